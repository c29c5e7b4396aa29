"""A folder of results: tables, figures and the page, written whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interlingua.errors import InputError
from interlingua.folders import whole
from interlingua.report.figures import all_figures, save
from interlingua.report.page import page
from interlingua.report.tables import Tables, config_of, empty, unlike, write

PAGE, FIGURES = "report.html", "figures"
FORMATS = ("svg", "png", "pdf")


def publish(
    tables: Tables,
    folder: str | Path,
    *,
    formats: Sequence[str] = ("svg", "png"),
    title: str = "",
    force: bool = False,
) -> Path:
    """Everything of a run into its folder; where the page is.

    A folder that holds something else is refused; with `force`, what another run wrote there is taken away first.
    """
    folder = Path(folder)
    others = sorted(p.name for p in folder.iterdir() if p.name != ".lock") if folder.is_dir() else []
    before = config_of(folder)
    if others and (not before or unlike(before, tables.config)):
        if not force:
            raise InputError(f"{folder} holds something else ({others[0]}): choose another folder, or force (--force)")
        empty(folder)
    write(tables, folder)
    if formats:
        save(all_figures(tables), folder / FIGURES, formats)
    place = folder / PAGE
    whole(place, page(tables, title=title or headline(tables)).encode())
    return place


def headline(tables: Tables) -> str:
    """Models and corpus, for a title."""
    models = [str(name) for name in tables.config.get("models", [])]
    shown = ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else "")
    corpus = tables.config.get("corpus", {}).get("name", "")
    return " on ".join(filter(None, [shown or "Comparison", corpus]))
