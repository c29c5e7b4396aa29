"""Processes of their own that begin with everything loaded: they can be stopped and begun anew without seconds of imports each."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

HEAVY = ["torch", "transformers", "zarr", "pandas", "scipy.stats", "interlingua.cli.main"]
HEAVY += [f"interlingua.{name}" for name in ("extract.store", "models.load", "analyses.survey", "report.publish")]

_context = multiprocessing.get_context("forkserver")


def begin(function, *arguments):
    """A process that calls this function of a module; it can be killed, and joined."""
    if not forkserver._forkserver._forkserver_pid:
        _context.set_forkserver_preload(HEAVY)
        # Without coverage in it: an interrupt inside its tracer leaves a lock held for ever.
        kept = {key: os.environ.pop(key) for key in list(os.environ) if key.startswith("COV")}
        forkserver.ensure_running()
        os.environ.update(kept)
    process = _context.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


class Verb:
    """`interlingua ...`, begun; no file of more than `largest` bytes where that is given, and a page with charts if `drawn`."""

    def __init__(self, folder, *arguments, largest=None, drawn=True):
        number = sum(1 for _ in folder.glob("*.stderr"))
        self._stdout, self._stderr = (folder / f"{number}.{name}" for name in ("stdout", "stderr"))
        for path in (self._stdout, self._stderr):
            path.touch()
        self.process = begin(_verb, self._stdout, self._stderr, [*map(str, arguments)], largest, drawn)

    def end(self, timeout=150):
        """Wait for its end: its code, and all it and what it uses said."""
        self.process.join(timeout)
        said = (path.read_text(encoding="utf-8") for path in (self._stdout, self._stderr))
        return subprocess.CompletedProcess((), self.process.exitcode, *said)


def _verb(stdout: Path, stderr: Path, arguments, largest, drawn):
    for number, path in ((1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_WRONLY), number)
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if not drawn:
        from interlingua.report import publish

        publish.page = lambda tables, *, title: f"<title>{title}</title>"
    sys.argv = ["interlingua", *arguments]
    from interlingua.cli.main import main

    main()


def extraction(place: Path, level, block, ready):
    """Vectors of built-in sentences, with a saving after every batch; `ready` is told when it begins."""
    import tiny
    import torch

    import interlingua as il
    from interlingua.extract import extract, tally
    from interlingua.models.load import wrap

    torch.set_num_threads(1)
    tally.SAVE_EVERY = 0.0
    model = wrap(tiny.network("bert"), tiny.tokenizer(), name="tiny-bert")
    corpus = il.parallel("everyday", "en", "ar", "zh")[:150]
    ready.send("ready")
    extract(model, corpus, out=place, level=level, block=block, budget=512)
