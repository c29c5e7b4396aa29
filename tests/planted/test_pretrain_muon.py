"""Muon against a step written out matrix by matrix."""

import numpy as np
import pytest
import torch

from interlingua.errors import InputError
from interlingua.models import architecture
from interlingua.pretrain.muon import Muon, orthogonal
from interlingua.pretrain.update import groups

SHAPE = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.mark.parametrize("shape", [(16, 16), (8, 32)])
def test_steps_have_singular_values_of_about_one_and_the_same_directions(shape):
    torch.manual_seed(0)
    x = torch.randn(3, *shape) @ torch.diag(torch.logspace(0, -1, shape[1]))
    found = orthogonal(x)
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    large = s > 0.05 * s[:, :1]
    turned = u.mT @ found @ vt.mT
    values = turned.diagonal(dim1=1, dim2=2)
    assert ((values > 0.6) & (values < 1.3))[large].all()
    assert (turned - torch.diag_embed(values)).abs().max() < 1e-4


def naive(weight, gradients, rate, decay, parts):
    """The equation, one matrix at a time, in float64."""
    whole = []
    for rows in np.split(np.arange(len(weight)), parts):
        w, m = weight[rows], np.zeros_like(weight[rows])
        for g in (g[rows] for g in gradients):
            m = 0.95 * m + 0.05 * g
            x = g + 0.95 * (m - g)
            x = x / (np.linalg.norm(x) + 1e-7)
            for _ in range(5):
                a = x @ x.T
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            w = w * (1 - rate * decay) - rate * 0.2 * max(w.shape) ** 0.5 * x
        whole.append(w)
    return np.concatenate(whole)


def test_matrices_of_blocks_step_as_the_equation_says_and_all_else_as_adamw():
    torch.manual_seed(0)
    network = architecture.LabForMaskedLM(architecture.LabEncoderConfig(**SHAPE)).double()
    start = {name: p.detach().clone() for name, p in network.named_parameters()}
    gradients = [{name: torch.randn_like(p) for name, p in start.items()} for _ in range(4)]
    plain = {name: p.clone().requires_grad_() for name, p in start.items()}
    kinds = [[p for p in plain.values() if p.dim() > 1], [p for p in plain.values() if p.dim() == 1]]
    other = torch.optim.AdamW(
        [{"params": kinds[0], "weight_decay": 0.1}, {"params": kinds[1], "weight_decay": 0}], lr=1e-2
    )
    mine = Muon(groups(network, 0.1, muon=True), lr=1e-2)
    for given in gradients:
        for name, p in network.named_parameters():
            p.grad, plain[name].grad = given[name].clone(), given[name].clone()
        mine.step()
        other.step()
    seen = set()
    for name, p in network.named_parameters():
        if p.dim() > 1 and ".layers." in name:
            parts = 3 if "query_key_value" in name else 1
            expected = naive(start[name].numpy(), [g[name].numpy() for g in gradients], 1e-2, 0.1, parts)
            np.testing.assert_allclose(p.detach().numpy(), expected, atol=1e-9, err_msg=name)
            seen.add(parts)
        else:
            torch.testing.assert_close(p, plain[name], msg=name)
    assert seen == {1, 3}


def test_it_is_for_networks_of_ours():
    with pytest.raises(InputError, match="muon is for networks of ours"):
        groups(torch.nn.Linear(4, 4), 0.0, muon=True)
