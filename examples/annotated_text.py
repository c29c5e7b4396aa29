"""Labels, tags, trees and dictionaries, all from what is built in."""

import interlingua as il

pairs = il.labelled("everyday-nli", "de")
print(pairs.labels[0], pairs.texts[0])

tagged = il.tagged("everyday-ner", "ru", split="test")
print(" ".join(tagged.words[0]), tagged.spans(0))

tree = il.treebank("everyday-trees", "fr").trees[0]
for position, (word, tag, head, relation) in enumerate(
    zip(tree.words, tree.upos, tree.heads, tree.relations, strict=True), 1
):
    print(position, word, tag, head, relation)

dictionary = il.dictionary("everyday-words", "et", "tr")
print("maja:", ", ".join(dictionary.lookup("maja")))
