"""What is known at some point of a run, and where it is written: `log.jsonl`, TensorBoard, whoever watches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from interlingua.pretrain.evaluate import Score


@dataclass(frozen=True)
class Line:
    """What is known at some point of a run, for the log and the progress line."""

    update: int
    loss: float
    rate: float
    updates_per_second: float
    tokens_per_second: float
    seconds_left: float
    scores: tuple[Score, ...] = ()


Progress = Callable[[Line], None]


class Log:
    """Lines go to `log.jsonl`, to TensorBoard where it is installed, and to whoever watches."""

    def __init__(self, folder: Path, say: Callable[[str], None], progress: Progress, *, after: int = 0) -> None:
        self.progress = progress
        path = folder / "log.jsonl"
        if path.exists():
            # A run that goes on from a checkpoint says again what came after it.
            lines = path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if _update(line) <= after]
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        self.file = (folder / "log.jsonl").open("a", encoding="utf-8")
        self.board: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"))
        except ImportError:
            say("tensorboard is not installed: the log is log.jsonl alone")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def __call__(self, line: Line) -> None:
        """Write a line everywhere."""
        facts = asdict(line)
        del facts["seconds_left"]
        self.file.write(json.dumps(facts) + "\n")
        self.file.flush()
        self.progress(line)
        if self.board is None:
            return
        for name in ("loss", "rate", "tokens_per_second"):
            self.board.add_scalar(name, facts[name], line.update)
        for score in line.scores:
            self.board.add_scalar(f"perplexity/{score.language}", score.perplexity, line.update)
            self.board.add_scalar(f"bits/{score.language}", score.bits, line.update)


def _update(line: str) -> float:
    """The update of a line; of one that was cut by a kill, none."""
    try:
        return float(json.loads(line)["update"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
