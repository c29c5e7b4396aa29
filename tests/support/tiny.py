"""Tiny random networks of every architecture family, and a tokenizer for them: no download, milliseconds each."""

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

import interlingua as il

SMALL = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
GROUPED = {**SMALL, "num_key_value_heads": 2}
TWO = {
    "d_model": 16, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
}  # fmt: skip
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

# name: (configuration, the stacks it has, whether a norm follows the last block)
FAMILIES = {
    "bert": (lambda v: hf.BertConfig(**SMALL, vocab_size=v), ["encoder"], False),
    "xlm-roberta": (lambda v: hf.XLMRobertaConfig(**SMALL, vocab_size=v, pad_token_id=0), ["encoder"], False),
    "distilbert": (lambda v: hf.DistilBertConfig(dim=16, n_layers=3, n_heads=2, hidden_dim=32, vocab_size=v), ["encoder"], False),
    "deberta-v2": (lambda v: hf.DebertaV2Config(**SMALL, vocab_size=v), ["encoder"], False),
    "modernbert": (lambda v: hf.ModernBertConfig(**SMALL, **SPECIAL, cls_token_id=1, sep_token_id=2, vocab_size=v), ["encoder"], True),
    "xglm": (lambda v: hf.XGLMConfig(d_model=16, num_layers=3, attention_heads=2, ffn_dim=32, vocab_size=v, **SPECIAL), ["decoder"], True),
    "bloom": (lambda v: hf.BloomConfig(hidden_size=16, n_layer=3, n_head=2, vocab_size=v, **SPECIAL), ["decoder"], True),
    "gpt2": (lambda v: hf.GPT2Config(n_embd=16, n_layer=3, n_head=2, vocab_size=v, **SPECIAL), ["decoder"], True),
    "llama": (lambda v: hf.LlamaConfig(**GROUPED, vocab_size=v, **SPECIAL), ["decoder"], True),
    "qwen2": (lambda v: hf.Qwen2Config(**GROUPED, vocab_size=v, **SPECIAL), ["decoder"], True),
    "qwen3": (lambda v: hf.Qwen3Config(**GROUPED, head_dim=8, vocab_size=v, **SPECIAL), ["decoder"], True),
    "gemma2": (lambda v: hf.Gemma2Config(**GROUPED, head_dim=8, vocab_size=v, **SPECIAL), ["decoder"], True),
    "mt5": (lambda v: hf.MT5Config(d_model=16, num_layers=3, num_decoder_layers=2, num_heads=2, d_ff=32, d_kv=8, vocab_size=v), ["encoder", "decoder"], True),
    "mbart": (lambda v: hf.MBartConfig(**TWO, vocab_size=v, **SPECIAL), ["encoder", "decoder"], True),
    "m2m_100": (lambda v: hf.M2M100Config(**TWO, vocab_size=v, **SPECIAL), ["encoder", "decoder"], True),
    "marian": (lambda v: hf.MarianConfig(**TWO, vocab_size=v, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0), ["encoder", "decoder"], False),
}  # fmt: skip


def tokenizer():
    """A small byte-level BPE with [CLS] and [SEP], trained on the built-in corpus."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["[PAD]", "[CLS]", "[SEP]", "[MASK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    core.train_from_iterator(il.parallel("everyday", "en", "fr")["en"], trainer)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return hf.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")


def network(name, size=400):
    """A network with random weights, always the same."""
    torch.manual_seed(3)
    return hf.AutoModel.from_config(FAMILIES[name][0](size)).eval()
