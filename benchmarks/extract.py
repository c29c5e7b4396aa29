"""All layers of a model, pooled, beside the bare forward pass and what else people run; ratios measured in one run.

python benchmarks/extract.py                       512 sentences through a network of XLM-R-base's size, on the CPU
python benchmarks/extract.py --device cuda --langs en,fr,de,es,ru,zh,ar,tr,bg,et --rows 1997 --autocast bfloat16

The network has random weights (the same operations take the same time) and the tokenizer is trained on the spot, so
nothing is downloaded. Text is NTREX where INTERLINGUA_DATA is set, else the built-in corpus. Every contender is run
`--repeats` times in turns; its best time counts. Ours counts everything: tokenising, looking for bad input, computing,
pooling, copying; "stored" counts writing to disk too. The bare forward pass gets ready-made batches and gives nothing.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from clock import Peak
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

import interlingua as il
from interlingua.corpora.places import data_root
from interlingua.extract.column import rows_of, work
from interlingua.extract.extraction import columns_of, settled
from interlingua.extract.options import Extraction
from interlingua.extract.plan import batches
from interlingua.models.load import wrap


def make_tokenizer(texts, size=8_000, sample=1_000):
    """A unigram tokenizer of XLM-R's kind, learnt from the text itself."""
    core = Tokenizer(models.Unigram())
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    core.train_from_iterator(
        texts[:: -(-len(texts) // sample)],
        trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=specials, unk_token="<unk>"),
    )
    core.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", model_max_length=512,
    )  # fmt: skip


def make_model(tokenizer, device, layers):
    """A network of XLM-R-base's size, at random."""
    torch.manual_seed(0)
    config = hf.XLMRobertaConfig(
        vocab_size=250_002, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, num_hidden_layers=layers
    )
    network = hf.AutoModel.from_config(config).to(device).eval().requires_grad_(requires_grad=False)
    return wrap(network, tokenizer, name="xlm-r-base, random")


def bare(model, corpus, options):
    """The batches that ours makes, ready on the device; and a function that only runs the network over them."""
    how = settled(Extraction(**options), model.device.type)
    ready = []
    for column in columns_of(model, corpus, how).values():
        rows = rows_of(column)
        for block in range(-(-len(rows) // how.block)):
            first, stop = rows.sentences(block, how.block)
            job = work(column, rows, column.read(first, stop), first, block, how.block)
            for batch in batches(job.lengths, how.budget):
                inputs, _ = job.inputs(batch.rows)
                ready.append({key: value.to(model.device) for key, value in inputs.items()})

    def run():
        with torch.inference_mode(), autocast(model, options):
            for inputs in ready:
                model.network(**inputs)

    return ready, run


def autocast(model, options):
    """The precision that was asked for."""
    kind = options.get("autocast")
    return torch.autocast(model.device.type, dtype=getattr(torch, kind or "bfloat16"), enabled=bool(kind))


def plain(model, corpus, options, size=32):
    """What most scripts do: batches in corpus order, padded to the longest, every layer pooled."""

    def run():
        result = {}
        for lang in corpus.langs:
            parts = []
            for start in range(0, len(corpus), size):
                texts = list(corpus[lang][start : start + size])
                inputs = model.tokenizer(texts, padding=True, return_tensors="pt", return_special_tokens_mask=True)
                special = inputs.pop("special_tokens_mask")
                inputs.pop("token_type_ids", None)
                weights = (1 - special).to(model.device).float().unsqueeze(-1)
                with torch.inference_mode(), autocast(model, options):
                    states = model.network(**inputs.to(model.device), output_hidden_states=True).hidden_states
                with torch.inference_mode():
                    parts.append(torch.stack([(h.float() * weights).sum(1) / weights.sum(1) for h in states]).cpu())
            result[str(lang)] = torch.cat(parts, 1).numpy()
        return result

    return run


def sentence_transformers(model, corpus, options):
    """The library most engineers reach for: the last layer only, sorted by length."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    with tempfile.TemporaryDirectory() as folder:
        model.network.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
        first = Transformer(folder)
    peer = SentenceTransformer(
        modules=[first, Pooling(model.layers.width, pooling_mode="mean")], device=str(model.device)
    )

    def run():
        with autocast(model, options):
            for lang in corpus.langs:
                peer.encode(list(corpus[lang]), show_progress_bar=False)

    return run


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--langs", default="en")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--autocast", default="")
    parser.add_argument("--budget", type=int, default=0)
    arguments = parser.parse_args()
    corpus = il.parallel("ntrex" if data_root() else "everyday", *arguments.langs.split(","))[: arguments.rows]
    texts = [text for column in corpus.columns for text in column]
    model = make_model(make_tokenizer(texts), arguments.device, arguments.layers)
    options = {"autocast": arguments.autocast, "budget": arguments.budget}
    _ = model.weights, model.tokenization  # hashed once a model
    ready, forward = bare(model, corpus, options)
    with tempfile.TemporaryDirectory() as folder:
        stores = iter(range(10**6))
        contenders = {
            "bare forward pass": forward,
            "ours, held": lambda: il.extract(model, corpus, **options),
            "ours, stored": lambda: il.extract(model, corpus, out=Path(folder, str(next(stores))), **options),
            "sentence-transformers": sentence_transformers(model, corpus, options),
            "plain loop": plain(model, corpus, options),
        }
        times = {name: [] for name in contenders}
        peaks = dict.fromkeys(contenders, 0.0)
        results = {}
        small = corpus[: min(32, len(corpus))]
        il.extract(model, small, **options)  # warm
        for _ in range(arguments.repeats):
            for name, run in contenders.items():
                peak = Peak(cuda=model.device.type == "cuda")
                start = time.perf_counter()
                results[name] = run()
                if model.device.type == "cuda":
                    torch.cuda.synchronize()
                times[name].append(time.perf_counter() - start)
                peaks[name] = max(peaks[name], peak.gib())
    n, padded = len(texts), sum(inputs["input_ids"].numel() for inputs in ready)
    tokens = sum(int(inputs["attention_mask"].sum()) for inputs in ready)
    base = min(times["bare forward pass"])
    where = torch.cuda.get_device_name() if model.device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(
        f"{n} sentences ({corpus.name}: {arguments.langs}), {tokens} tokens, {padded} with padding; "
        f"{arguments.layers} layers x 768; {where}; {arguments.autocast or 'float32'}; best of {arguments.repeats}"
    )
    print(f"\n| {'':<22} | layers | seconds | sentences/s | of the bare pass | peak GiB |")
    print("|---|---:|---:|---:|---:|---:|")
    kept = {"bare forward pass": 0, "sentence-transformers": 1}
    for name, spent in times.items():
        best = min(spent)
        print(
            f"| {name:<22} | {kept.get(name, arguments.layers + 1)} | {best:.2f} | {n / best:,.0f} | {base / best:.2f} | {peaks[name]:.2f} |"
        )
    ratio = min(times["plain loop"]) / min(times["ours, held"])
    lang = str(corpus.langs[0])
    gap = float(np.abs(results["ours, held"][lang] - results["plain loop"][lang]).max())
    print(
        f"\nours, held: {ratio:.2f} times as fast as the plain loop; largest difference between their vectors {gap:.1e}"
    )


if __name__ == "__main__":
    main()
