"""Muon (Jordan et al. 2024): matrices change by steps whose singular values are all about one.

    M_t = β M_{t-1} + (1 - β) G_t,    W ← W (1 - ηλ) - η 0.2 √max(n, m) NS(G_t + β (M_t - G_t))

NS is five steps of a Newton-Schulz iteration towards U Vᵀ of the singular value decomposition; the factor gives steps
as large as AdamW's (Liu et al. 2025), so that its rates can be kept. Tables, biases, norms and heads are AdamW's.
Matrices of one shape are multiplied together: products a step do not grow with depth.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.95
# of the polynomial a X + b (X Xᵀ) X + c (X Xᵀ)² X
_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = 5


def orthogonal(x_knm: Tensor, *, half: bool = False) -> Tensor:
    """About U Vᵀ of each matrix (n <= m): singular values between 0.7 and 1.2. In bfloat16 on a GPU, or if asked."""
    x = x_knm.bfloat16() if half or x_knm.is_cuda else x_knm
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.to(x_knm.dtype)


class Muon(torch.optim.AdamW):
    """AdamW, but for groups with `parts`: their matrices are so many (queries, keys, values) on top of each other.

    `half`: their directions are computed in bfloat16 on a CPU too.
    """

    half = False

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update of everything that has a gradient."""
        every = self.param_groups
        for group in every:
            if group.get("parts"):
                self._turn(group)
        self.param_groups = [group for group in every if not group.get("parts")]
        try:
            return super().step(closure)
        finally:
            self.param_groups = every

    def _turn(self, group: dict[str, Any]) -> None:
        live = [p for p in group["params"] if p.grad is not None]
        for p in live:
            if not self.state[p]:  # AdamW asks all for a step when it is loaded
                self.state[p] |= {"momentum": torch.zeros_like(p), "step": torch.zeros((), device=p.device)}
        gradients, held = [p.grad for p in live], [self.state[p]["momentum"] for p in live]
        torch._foreach_lerp_(held, gradients, 1 - MOMENTUM)
        # wide and tall matrices of one shape, the tall ones lying on their side
        alike: dict[tuple[int, ...], tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]]
        alike = defaultdict(lambda: ([], []))
        for p, step in zip(live, torch._foreach_lerp(gradients, held, MOMENTUM), strict=True):
            for part, of in zip(p.chunk(group["parts"]), step.chunk(group["parts"]), strict=True):
                n, m = part.shape
                alike[min(n, m), max(n, m)][n > m].append((part, of))
        rate = group["lr"]
        for (_, longest), (wide, tall) in alike.items():
            lying = torch.stack([*(step for _, step in wide), *(step.mT for _, step in tall)])
            found = orthogonal(lying, half=self.half) * (0.2 * longest**0.5 * rate)
            steps = [*found[: len(wide)].unbind(), *found[len(wide) :].mT.contiguous().unbind()]
            weights = [weight for weight, _ in (*wide, *tall)]
            torch._foreach_mul_(weights, 1 - rate * group["weight_decay"])
            torch._foreach_sub_(weights, steps)
