"""An update on a CPU: float32, bfloat16 with torch's attention, and bfloat16 as it is here (attention in float32).

    python benchmarks/half.py [--sentences 32] [--repeats 5]

Forward and backward of small networks without dropout over random tokens, half of the rows half as long; CPU seconds, one thread, the
least of all repeats. Equality of the gradients: tests/golden/test_architecture.py.
"""

import argparse
import time

import torch

from interlingua.models import architecture as arch
from interlingua.models import attention, load_model

SHAPE = {"vocab_size": 8_000, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4}


def seconds(network, ids, mask, repeats, *, half):
    """The least of all repeats, after two that warm up."""
    written = {"decoder_input_ids": ids} if network.config.is_encoder_decoder else {}
    found = []
    for _ in range(repeats + 2):
        began = time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            out = network(input_ids=ids, attention_mask=mask, **written)
        out.last_hidden_state.float().pow(2).mean().backward()
        found.append(time.process_time() - began)
        network.zero_grad()
    return min(found[2:])


def main():
    """A row a network and length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    networks = {
        "encoder, ours, 4 x 128": arch.LabEncoder(arch.LabEncoderConfig(**SHAPE)),
        "encoder-decoder, ours, 4 + 4 x 128": arch.LabSeq2Seq(arch.LabSeq2SeqConfig(**SHAPE)),
        "xlm-roberta, 8 x 256 (the model that ships)": load_model("built-in").network,
    }
    slow = attention._slow
    print(f"torch {torch.__version__}, {args.sentences} sentences, milliseconds of one thread\n")
    print("| network | tokens a sentence | float32 | bfloat16, torch's attention | bfloat16, ours | torch's / ours |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, network in networks.items():
        network.requires_grad_(requires_grad=True).train()
        attention.hasten(network)
        for length in (16, 32, 64, 128):
            ids = torch.randint(10, 8_000, (args.sentences, length))
            mask = torch.ones_like(ids)
            mask[: args.sentences // 2, length // 2 :] = 0
            found = []
            for half, ours in ((False, True), (True, False), (True, True)):
                attention._slow = slow if ours else lambda *_: False
                found.append(seconds(network, ids, mask, args.repeats, half=half))
            attention._slow = slow
            told = " | ".join(f"{1000 * each:.1f}" for each in found)
            print(f"| {name} | {length} | {told} | {found[1] / found[2]:.2f} |")


if __name__ == "__main__":
    main()
