"""Two tiny encoders of random weights and a tokenizer for them, saved as checkpoints: something to look inside offline.

python examples/demo_models.py demo-models
"""

import argparse
from pathlib import Path

import torch
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

import interlingua as il

LANGS = ("en", "fr", "de", "es", "ru", "zh", "ar", "bg", "et", "tr")
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def tokenizer() -> hf.PreTrainedTokenizerFast:
    """Unigram sub-words of the built-in corpus, with the special tokens of XLM-R."""
    core = Tokenizer(models.Unigram())
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    corpus = il.parallel("everyday", *LANGS)
    trainer = trainers.UnigramTrainer(vocab_size=6000, show_progress=False, special_tokens=SPECIAL, unk_token="<unk>")
    core.train_from_iterator([text for column in corpus.columns for text in column], trainer)
    core.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=128,
    )  # fmt: skip


def main(folder: Path) -> None:
    """Save both."""
    words = tokenizer()
    for name, seed in (("random-a", 1), ("random-b", 2)):
        torch.manual_seed(seed)
        config = hf.XLMRobertaConfig(
            vocab_size=len(words), hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=256,
            max_position_embeddings=130, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        )  # fmt: skip
        hf.XLMRobertaModel(config).save_pretrained(folder / name)
        words.save_pretrained(folder / name)
        print(f"{folder / name}: {config.num_hidden_layers} layers x {config.hidden_size}, random weights")


if __name__ == "__main__":
    hf.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("demo-models"))
    main(parser.parse_args().folder)
