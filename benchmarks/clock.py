"""Seconds and bytes, for the scripts beside this file."""

import resource
import time
from pathlib import Path


class Peak:
    """Peak memory since it was made: of the card, or of the process (Linux)."""

    def __init__(self, *, cuda):
        self.cuda = cuda
        if cuda:
            import torch

            torch.cuda.reset_peak_memory_stats()
        else:
            Path("/proc/self/clear_refs").write_text("5")

    def gib(self):
        """In GiB."""
        if self.cuda:
            import torch

            return torch.cuda.max_memory_allocated() / 2**30
        status = Path("/proc/self/status")
        if not status.exists():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) / 2**20


def seconds(work, *, cuda=False):
    """CPU seconds of the process, or seconds on the wall until the card is done; and what came out."""
    if not cuda:
        start = time.process_time()
        result = work()
        return time.process_time() - start, result
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result
