"""Hidden states of tokens become one vector a sentence or a word, on the device, in float32.

Special tokens and padding never take part, except that `first` is the first token of the sentence as the network sees
it (the [CLS] of BERT) and that `mean_all`, for old numbers, counts special tokens in. Shapes: b sentences, t tokens, d
neurons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from interlingua.errors import UnknownNameError

Tensor = torch.Tensor
# (hidden states b t d, which tokens are content b t, which are there at all b t) -> vectors b d
Pool = Callable[[Tensor, Tensor, Tensor], Tensor]


def pool_mean(h_btd: Tensor, content_bt: Tensor, _present_bt: Tensor) -> Tensor:
    """The mean over content tokens."""
    weights = content_bt.to(torch.float32)
    return torch.einsum("btd,bt->bd", h_btd.to(torch.float32), weights) / weights.sum(1, keepdim=True)


def pool_mean_all(h_btd: Tensor, _content_bt: Tensor, present_bt: Tensor) -> Tensor:
    """The mean over all tokens, special ones counted in: what Del & Fishel 2022 and many scripts compute."""
    return pool_mean(h_btd, present_bt, present_bt)


def pool_first(h_btd: Tensor, _content_bt: Tensor, present_bt: Tensor) -> Tensor:
    """The first token there is: [CLS] where the tokenizer adds one."""
    return _at(h_btd, present_bt.to(torch.int32).argmax(1))


def pool_last(h_btd: Tensor, content_bt: Tensor, _present_bt: Tensor) -> Tensor:
    """The last content token: in a decoder, the only one that has seen the whole sentence."""
    positions = torch.arange(content_bt.shape[1], device=content_bt.device)
    return _at(h_btd, (content_bt * positions).argmax(1))


def pool_max(h_btd: Tensor, content_bt: Tensor, _present_bt: Tensor) -> Tensor:
    """The maximum over content tokens, neuron by neuron."""
    return h_btd.to(torch.float32).masked_fill(~content_bt.bool().unsqueeze(-1), -torch.inf).amax(1)


def pool_weighted(h_btd: Tensor, content_bt: Tensor, _present_bt: Tensor) -> Tensor:
    """The mean over content tokens weighted by position 1, 2, 3, ... (Muennighoff 2022, SGPT): for decoders."""
    ranks = content_bt.cumsum(1) * content_bt
    weights = ranks.to(torch.float32)
    return torch.einsum("btd,bt->bd", h_btd.to(torch.float32), weights) / weights.sum(1, keepdim=True)


def _at(h_btd: Tensor, position_b: Tensor) -> Tensor:
    rows = torch.arange(h_btd.shape[0], device=h_btd.device)
    return h_btd[rows, position_b].to(torch.float32)


POOLINGS: dict[str, Pool] = {
    "mean": pool_mean,
    "mean_all": pool_mean_all,
    "first": pool_first,
    "last": pool_last,
    "max": pool_max,
    "weighted": pool_weighted,
}
# The first token at the last layer, the mean below: what fine-tuned classifiers read, and what is under it.
MIXED = "mixed"


def pool_layers(name: str, states: Sequence[Tensor], content_bt: Tensor, present_bt: Tensor) -> Tensor:
    """All layers at once: vectors of shape (layers, sentences, neurons)."""
    if name == MIXED:
        below = pool_layers("mean", states[:-1], content_bt, present_bt)
        return torch.cat([below, pool_layers("first", states[-1:], content_bt, present_bt)])
    if name not in POOLINGS:
        raise UnknownNameError("pooling", name, [*POOLINGS, MIXED])
    pool, n = POOLINGS[name], len(states)
    if states[0].is_cuda:
        # As one tall batch: a few large kernels where a layer at a time would be many small ones.
        tall = pool(torch.cat(tuple(states)), content_bt.repeat(n, 1), present_bt.repeat(n, 1))
        return tall.reshape(n, -1, tall.shape[-1])
    return torch.stack([pool(h, content_bt, present_bt) for h in states])


def join_words(states: Sequence[Tensor], weights_bwt: Tensor, sentence_k: Tensor, slot_k: Tensor) -> Tensor:
    """Words from their tokens, at all layers: vectors of shape (layers, words, neurons).

    `weights_bwt` says how much of each token goes into each word of its sentence; word k of the result is word
    `slot_k` of sentence `sentence_k`.
    """
    return torch.stack([torch.bmm(weights_bwt, h.to(torch.float32))[sentence_k, slot_k] for h in states])
