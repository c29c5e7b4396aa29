"""CoNLL-U (Universal Dependencies version 2) becomes trees.

Syntactic words are kept; multiword tokens are recorded beside them; empty nodes (8.1) belong to the enhanced
graph and are passed over. A version 1 treebank is recognised by its labels and refused: its relations
mean other things under the same names, so it must never be mixed with version 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from interlingua.corpora.files import lines
from interlingua.errors import FormatError
from interlingua.languages import Language
from interlingua.types import Multiword, Tree, Treebank, Words

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

# What exists in version 1 only; none of it is in version 2 (universaldependencies.org/v2/summary.html).
VERSION_1_RELATIONS = frozenset("dobj nsubjpass csubjpass auxpass mwe name foreign remnant neg".split())
VERSION_1_TAGS = frozenset({"CONJ"})
MOST_DIGITS = 6
# Real version 1 files are full of such labels; a few strays are slips in a version 2 file.
VERSION_1_SHARE = 0.005


def read_conllu(
    path: Path,
    language: Language,
    *,
    columns: Sequence[str] = COLUMNS,
    damaged: list[FormatError] | None = None,
    name: str = "unnamed",
    licence: str = "unknown",
) -> Treebank:
    """All sentences of a file; `columns` names the columns where a file has others than CoNLL-U's ten.

    A sentence that is no tree is an error; where a list `damaged` is passed, the error goes there, the sentence is left
    out and the notes say how many were.
    """
    wanted = [list(columns).index(c) for c in ("id", "form", "upos", "head", "deprel")]
    trees: list[Tree] = []
    ids: list[str] = []
    for comments, rows in _sentences(path):
        try:
            for number, cells in rows:
                if len(cells) != len(columns):
                    raise FormatError(
                        path, number, f"{len(cells)} columns where CoNLL-U has {len(columns)}, tab-separated"
                    )
            tree = _tree(path, [(number, [cells[w] for w in wanted]) for number, cells in rows], comments)
        except FormatError as error:
            if damaged is None:
                raise
            damaged.append(error)
            continue
        trees.append(tree)
        ids.append(comments.get("sent_id", str(rows[0][0])))
    if not trees:
        raise FormatError(path, None, "holds no sentences")
    if problem := version_1_problem(trees):
        raise FormatError(path, None, problem)
    notes = (f"{len(damaged)} sentences are no trees and were left out",) if damaged else ()
    return Treebank(language=language, trees=tuple(trees), ids=_unique(ids), name=name, licence=licence, notes=notes)


def _unique(ids: list[str]) -> tuple[str, ...]:
    """The ids, numbered where some occur twice."""
    return tuple(ids) if len(set(ids)) == len(ids) else tuple(f"{i}:{name}" for i, name in enumerate(ids, 1))


def _sentences(path: Path) -> Iterator[tuple[dict[str, str], list[tuple[int, list[str]]]]]:
    """Comments (`# key = value`) and rows of each sentence."""
    comments: dict[str, str] = {}
    rows: list[tuple[int, list[str]]] = []
    for number, line in lines(path):
        if not line.strip():
            if rows:
                yield comments, rows
            comments, rows = {}, []
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            comments[key.strip()] = value.strip()
        else:
            rows.append((number, line.split("\t")))
    if rows:
        yield comments, rows


def _tree(path: Path, rows: Sequence[tuple[int, list[str]]], comments: dict[str, str]) -> Tree:
    words: list[tuple[str, str, int, str]] = []
    numbers: list[int] = []
    multiwords: list[Multiword] = []
    for number, (index, form, upos, head, relation) in rows:
        if index.isdecimal():
            if index != str(len(words) + 1):
                raise FormatError(path, number, f"word {index} where word {len(words) + 1} was expected")
            if not head.isdecimal() or len(head) > MOST_DIGITS:
                raise FormatError(path, number, f"the head of {form!r} is {head[:20]!r}, not a number")
            words.append((form, upos, int(head), relation))
            numbers.append(number)
        elif "-" in index:
            multiwords.append(_multiword(path, number, index, form))
        elif not index.replace(".", "", 1).isdecimal():
            raise FormatError(path, number, f"{index!r} is no word number")
    if not words:
        raise FormatError(path, rows[0][0], "a sentence without words")
    for m in multiwords:
        if m.end > len(words):
            raise FormatError(path, rows[0][0], f"the token {m.form!r} ends after the sentence")
    if problem := tree_problem([head for _, _, head, _ in words]):
        raise FormatError(path, numbers[problem[0]], problem[1])
    columns: tuple[Words, Words, tuple[int, ...], Words] = tuple(zip(*words, strict=True))  # type: ignore[assignment]
    return Tree(*columns, tuple(multiwords), comments.get("text"))


def _multiword(path: Path, number: int, index: str, form: str) -> Multiword:
    first, _, last = index.partition("-")
    numbers = first.isdecimal() and last.isdecimal() and len(index) <= 2 * MOST_DIGITS
    if not (numbers and 1 <= int(first) <= int(last)):
        raise FormatError(path, number, f"{index!r} is no range of words")
    return Multiword(form, int(first) - 1, int(last))


def tree_problem(heads: Sequence[int]) -> tuple[int, str] | None:
    """The position of the word at which these heads stop being a tree, and why; None where they are one."""
    roots = [i for i, head in enumerate(heads) if head == 0]
    if len(roots) != 1:
        return (roots[1] if roots else 0), f"{len(roots)} roots where a tree has one"
    reaches = {0}
    for i in range(len(heads)):
        above: dict[int, None] = {}
        node = i + 1
        while node not in reaches:
            if node in above:
                return i, f"word {i + 1} is part of a cycle"
            above[node] = None
            node = heads[node - 1]
            if not 0 <= node <= len(heads):
                return i, f"head {node} in a sentence of {len(heads)} words"
        reaches.update(above)
    return None


def version_1_problem(trees: Iterable[Tree]) -> str | None:
    """Why these are trees of Universal Dependencies version 1; None where they are not."""
    old: Counter[str] = Counter()
    words = 0
    for tree in trees:
        words += len(tree)
        old.update(r for r in (rel.partition(":")[0] for rel in tree.relations) if r in VERSION_1_RELATIONS)
        old.update(tag for tag in tree.upos if tag in VERSION_1_TAGS)
    if old.total() <= VERSION_1_SHARE * words:
        return None
    seen = ", ".join(f"{label} ({n})" for label, n in old.most_common(4))
    return f"Universal Dependencies version 1 ({seen}): take a version 2 release of this treebank"


def read_conllu_lenient(
    path: Path,
    language: Language,
    *,
    columns: Sequence[str] = COLUMNS,
    name: str = "unnamed",
    licence: str = "unknown",
) -> Treebank:
    """For released files with known damage: sentences that are no trees are left out and counted in the notes."""
    return read_conllu(path, language, columns=columns, damaged=[], name=name, licence=licence)
