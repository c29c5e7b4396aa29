"""A page of findings, charts, a browser, a table and methods: what `map`, `concepts` and `transfer` write."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.folders import whole
from interlingua.report.embed import as_json
from interlingua.report.figures import drawing, save
from interlingua.report.page import policy, shown, template, versions
from interlingua.report.theme import Figure, themed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Framed:
    """What goes into the frame. `name`: of the files of the browser, if there is one; `over`: the charts' heading."""

    name: str
    brand: str
    title: str
    over: str
    told: Sequence[tuple[str, str]]
    figures: Mapping[str, Figure]
    data: Mapping[str, Any]
    table: str
    methods: str
    config: Mapping[str, Any]

    def html(self) -> str:
        """The whole page; nothing in it asks for a network."""
        own = template(f"{self.name}.js") if self.name else ""
        script = f"(() => {{\n'use strict';\n{template('frame.js')}\n{own}\n}})();"
        cards = "".join(
            f'<div class="finding"><h3 dir="auto">{shown(heading)}</h3><p dir="auto">{shown(sentence)}</p></div>'
            for heading, sentence in self.told
        )
        parts = {
            "policy": policy(script),
            "brand": shown(self.brand),
            "title": shown(self.title),
            "css": template("page.css"),
            "summary": f'<div class="findings">{cards}</div>',
            "over": shown(self.over),
            "charts": "".join(f"<figure>{_picture(chart)}</figure>" for chart in self.figures.values()),
            "browser": template(f"{self.name}.html") if self.name else "",
            "data": as_json(dict(self.data)),
            "table": self.table,
            "methods": shown(self.methods),
            "versions": versions(self.config),
            "script": script,
        }
        return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template("frame.html"))

    def publish(self, place: Path, formats: Sequence[str]) -> Path:
        """The page, and its figures in files beside it; where the page is."""
        if formats:
            save(dict(self.figures), place.parent / "figures", formats)
        whole(place, self.html().encode())
        return place


# Columns of whole numbers, which are floats where some are missing.
WHOLE_NUMBERS = ("seed", "epoch", "lost", "sentences")


def _cell(column: str, value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if column in WHOLE_NUMBERS else f"{value:.3f}"
    return str(value)


def table_of(frame: pd.DataFrame, columns: Sequence[str], cell: Callable[[str, Any], str] = _cell) -> str:
    """Rows as a table of the page; columns that hold nothing are left out."""
    kept = [c for c in columns if frame[c].notna().any()]
    head = "".join(f'<th scope="col">{shown(c)}</th>' for c in kept)
    body = []
    for row in frame[kept].itertuples(index=False):
        cells = (cell(column, value) for column, value in zip(kept, row, strict=True))
        body.append("<tr>" + "".join(f'<td dir="auto">{shown(text)}</td>' for text in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _picture(chart: Figure) -> str:
    """A chart in both looks; the page's theme shows one of them."""
    title = chart.to_dict().get("title", {})
    text = shown(str(title.get("text", "chart")) if isinstance(title, Mapping) else str(title))
    found = []
    for look in ("light", "dark"):
        svg = drawing(themed(chart, dark=look == "dark"))
        code = base64.b64encode(svg.encode()).decode()
        found.append(f'<img class="{look}" alt="{text}" src="data:image/svg+xml;base64,{code}">')
    return "".join(found)
