"""Tiny random networks of every architecture family, and a tokenizer for them: no download, milliseconds each."""

import torch
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

import interlingua as il
from interlingua.models.architecture import LabSeq2SeqConfig

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
    "ours": (lambda v: LabSeq2SeqConfig(**SMALL, vocab_size=v, max_position_embeddings=512, norm="pre", **SPECIAL), ["encoder", "decoder"], True),
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


def two_models(folder):
    """Folders of two small encoders with other weights and one tokenizer."""
    for name, seed in (("a", 0), ("b", 1)):
        made = network("bert")
        with torch.no_grad():
            for weight in made.parameters():
                weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed)))
        made.save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)
    return [str(folder / name) for name in "ab"]


# Sentences in fourteen scripts, as words; with emoji of several code points, combining marks and mixed scripts.
SCRIPTS = {
    "Latin": ["Don't", "touch", "the", "naïve", "façade", "!"],
    "Latin with combining marks": ["cafe\u0301", "e\u0301te\u0301", "Vie\u0323\u0302t", "o\u0308ffnen"],
    "Cyrillic": ["Мама", "мыла", "раму", ",", "а", "ёж", "спал", "."],
    "Greek": ["Η", "γλώσσα", "είναι", "κοινή", "."],
    "Arabic": ["اللُّغَةُ", "المشتركة", "في", "النموذج", "؟"],
    "Hebrew": ["שָׁלוֹם", "עולם", "!"],
    "Devanagari": ["नमस्ते", "दुनिया", "क्षत्रिय", "।"],
    "Tamil": ["வணக்கம்", "உலகம்", "."],
    "Han": ["我们", "在", "北京", "学习", "自然", "语言", "。"],
    "Kana": ["東京", "の", "カレー", "は", "おいしい", "です", "。"],
    "Hangul": ["한국어", "문장", "입니다", "."],
    "Thai": ["ภาษา", "ไทย", "ไม่", "มี", "ช่องว่าง"],
    "Georgian": ["გამარჯობა", "მსოფლიო", "."],
    "Ethiopic": ["ሰላም", "ለዓለም", "።"],
    "emoji": ["I", "❤️", "my", "👩‍👩‍👧", "and", "🇫🇷", "👍🏽", "!"],
    "mixed": ["iPhone", "价格", "is", "100€", "в", "Москве", "٣"],
}


def _trained(core, trainer):
    core.train_from_iterator([" ".join(words) for words in SCRIPTS.values()] * 3, trainer)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=core, **special)


SPECIALS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]


def byte_level(trim=False):
    """GPT-2's kind: bytes, a space belongs to the word behind it."""
    core = Tokenizer(models.BPE(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return _trained(
        core,
        trainers.BpeTrainer(vocab_size=420, show_progress=False, special_tokens=SPECIALS, initial_alphabet=alphabet),
    )


def bpe():
    """BPE over characters, words marked by a metaspace, unknown characters as bytes: Llama's kind."""
    core = Tokenizer(models.BPE(unk_token="[UNK]", byte_fallback=True))
    core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return _trained(core, trainers.BpeTrainer(vocab_size=300, show_progress=False, special_tokens=SPECIALS))


def unigram():
    """XLM-R's kind: compatibility normalisation, then a metaspace before every word."""
    core = Tokenizer(models.Unigram())
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=220, show_progress=False, special_tokens=SPECIALS, unk_token="[UNK]")
    return _trained(core, trainer)


def wordpiece():
    """BERT's kind: clean, lower case, no accents, a word for every ideograph."""
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return _trained(core, trainers.WordPieceTrainer(vocab_size=300, show_progress=False, special_tokens=SPECIALS))


TOKENIZERS = {
    "byte-level": byte_level,
    "byte-level, trimmed": lambda: byte_level(trim=True),
    "bpe": bpe,
    "unigram": unigram,
    "wordpiece": wordpiece,
}
