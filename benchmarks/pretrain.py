"""Pretraining against a loop written by hand for one shape: updates a second at the same number of tokens.

    python benchmarks/pretrain.py [--batch 16384 65536] [--updates 300]

The loop by hand is what a good engineer writes for one experiment: one fixed encoder in plain torch, bf16 autocast,
torch.compile, fused AdamW, scores at masked places only, tokens and masks on the device before the clock starts. Ours
reads tokens, draws masks and copies them to the device as it goes. Equality of the quantity: tests/golden/
test_architecture.py (the network) and tests/integration/test_pretrain.py (the update).
"""

import argparse
import json
import math
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from interlingua.pretrain.config import Config
from interlingua.pretrain.mixture import Mixture, Stream, generator
from interlingua.pretrain.objectives import Masked
from interlingua.pretrain.prepare import Prepared
from interlingua.pretrain.train import build
from interlingua.pretrain.training import Training

WARM = 60


class Hand(nn.Module):
    """A post-norm encoder with a tied head, and nothing that could be otherwise."""

    def __init__(self, vocabulary, width, depth, heads, length):
        super().__init__()
        self.heads = heads
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.one = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.two = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.dense, self.last = nn.Linear(width, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, places, targets):
        """The loss."""
        b, n = ids.shape
        x = self.norm(self.words(ids) + self.positions.weight[:n])
        for qkv, out, up, down, one, two in zip(
            self.qkv, self.out, self.up, self.down, self.one, self.two, strict=True
        ):
            q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in qkv(x).chunk(3, -1))
            mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, -1)
            x = one(x + out(mixed))
            x = two(x + down(functional.gelu(up(x))))
        x = self.last(functional.gelu(self.dense(x.view(b * n, -1)[places])))
        return functional.cross_entropy(functional.linear(x, self.words.weight, self.bias).float(), targets)


def by_hand(config, vocabulary, device):
    """The loop by hand, warm: a function that makes so many updates."""
    torch.manual_seed(0)
    network = Hand(vocabulary, config.width, config.depth, config.heads, config.length).to(device)
    for p in network.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=0.02)
    cuda = device.type == "cuda"
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    run = torch.compile(network, dynamic=False) if cuda else network
    k = round(0.15 * config.batch)
    rows = config.batch // config.length
    held = [
        (
            torch.randint(5, vocabulary, (rows, config.length), device=device),
            torch.randperm(config.batch, device=device)[:k],
            torch.randint(5, vocabulary, (k,), device=device),
        )
        for _ in range(8)
    ]

    def go(updates):
        for i in range(updates):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=cuda):
                loss = run(*held[i % len(held)])
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0, foreach=True)
            optimizer.step()

    go(WARM if cuda else 3)
    return go


def ours(config, vocabulary, device, *, graphs):
    """The training loop of the package, warm, its own batches included: a function that makes so many updates."""

    class Place:
        is_main_process, num_processes, process_index = True, 1, 0

        def wait_for_everyone(self):
            pass

    class Reading:
        size, mask, end, start = vocabulary, 4, 2, 0

        def words(self, _lang):
            return np.arange(5, vocabulary)

        def save(self, *_):
            pass

    Place.device = device
    rng = np.random.default_rng(0)
    streams = tuple(
        Stream(n, n, rng.integers(5, vocabulary, 4_000_000).astype(np.uint16), 1000, 1000) for n in ("en", "fr")
    )
    config = config.model_copy(
        update={"cuda_graphs": graphs, "updates": 10**6, "evaluate_every": 10**9, "checkpoint_every": 10**9}
    )
    folder = tempfile.TemporaryDirectory()
    training = Training(config, Path(folder.name), Prepared(Reading(), streams, ()), build(config, Reading()), Place())
    batches = training._batches(0, 10**6)

    def go(updates, _kept=folder):
        for _ in range(updates):
            number, batch = next(batches)
            training.update(batch, number)

    go(WARM if device.type == "cuda" else 3)
    return go


def trainer(config, vocabulary):
    """The Trainer of transformers on the same shape, on the CPU: a function that makes so many updates."""
    import transformers as hf

    hf.logging.set_verbosity_error()
    shape = hf.RobertaConfig(
        vocab_size=vocabulary, hidden_size=config.width, num_hidden_layers=config.depth,
        num_attention_heads=config.heads, intermediate_size=4 * config.width, type_vocab_size=1,
        max_position_embeddings=config.length + 2, hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
    )  # fmt: skip
    network = hf.RobertaForMaskedLM(shape)
    rows = [torch.randint(5, vocabulary, (config.length,)) for _ in range(2_000)]

    def batch(some):
        ids = torch.stack(some)
        asked = torch.rand(ids.shape) < 0.15
        return {"input_ids": ids.masked_fill(asked, 4), "labels": ids.masked_fill(~asked, -100)}

    def go(updates):
        with tempfile.TemporaryDirectory() as folder:
            how = hf.TrainingArguments(
                folder, max_steps=updates, per_device_train_batch_size=config.batch // config.length, use_cpu=True,
                report_to=[], save_strategy="no", disable_tqdm=True, optim="adamw_torch_fused",
            )  # fmt: skip
            made = hf.Trainer(network, how, data_collator=batch, train_dataset=rows)
            made.remove_callback(hf.PrinterCallback)
            made.train()

    go(3)
    return go


def feeding(config, vocabulary, updates):
    """Batches a second that one thread prepares, with nothing else going on."""
    rng = np.random.default_rng(0)
    streams = [Stream(n, n, rng.integers(5, vocabulary, 4_000_000).astype(np.uint16), 1000, 1000) for n in ("en", "fr")]
    mixture = Mixture(streams, config.length, config.batch // config.length, 0)
    ask = Masked(4, np.arange(5, vocabulary), np.arange(vocabulary) < 5)
    start = time.perf_counter()
    for number, _, ids in mixture.batches(0, updates):
        ask(ids, generator(0, 4, number))
    return updates / (time.perf_counter() - start)


def timed(run, updates, device):
    """Updates a second, until the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return updates / (time.perf_counter() - start)


def main():
    """Print a line for each size of batch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="mini")
    parser.add_argument("--batch", type=int, nargs="+", default=[16384, 65536])
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for batch in arguments.batch:
        config = Config(size=arguments.size, batch=batch, text={"en": ["none"], "fr": ["none"]}).resolved()
        found = {"hand": [], "ours, no graphs": [], "ours": []}
        for _ in range(arguments.repeat):
            contenders = {
                "hand": partial(by_hand, config, arguments.vocabulary, device),
                "ours, no graphs": partial(ours, config, arguments.vocabulary, device, graphs=False),
                "ours": partial(ours, config, arguments.vocabulary, device, graphs=True),
            }
            for name, ready in contenders.items():
                go = ready()
                found[name].append(timed(partial(go, arguments.updates), arguments.updates, device))
        middle = {name: sorted(all_)[len(all_) // 2] for name, all_ in found.items()}
        fed = feeding(config, arguments.vocabulary, min(arguments.updates, 200))
        print(json.dumps({
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            "size": arguments.size, "batch": batch,
            "updates/s": {name: round(value, 2) for name, value in middle.items()},
            "of the loop by hand": {n: round(v / middle["hand"], 3) for n, v in middle.items() if n != "hand"},
            "batches/s one thread prepares": round(fed, 1),
            "spread": {name: [round(v, 1) for v in all_] for name, all_ in found.items()},
            "tokens/s": round(middle["ours"] * batch), "room": math.ceil(batch * 0.15),
        }))  # fmt: skip


if __name__ == "__main__":
    main()
