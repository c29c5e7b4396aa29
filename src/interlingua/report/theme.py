"""One look for every figure: colours that colour-blind readers can tell apart, sizes that survive print, light or dark.

The theme travels inside each chart's own `config`; nothing is registered with Altair, so other charts keep their looks.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from interlingua.errors import MissingExtraError

try:
    import altair
    from altair import TopLevelMixin as Figure
except ImportError as error:
    raise MissingExtraError("altair", "report", "drawing figures") from error

__all__ = ["MARKED", "NULL", "RANDOM", "SEQUENTIAL", "VALUE", "Figure", "Rows", "alt", "config", "themed"]

# Altair spells every colour name out in its types; its own schema checks the specifications.
alt: Any = altair

# Okabe & Ito's palette: its yellow is left out (too faint on paper), and its blues and greens are lighter in the dark.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
DARK = ("#56A9E8", "#F0783C", "#2BB98C", "#E38FBF", "#F2B134", "#9AD4F5", "#D0D0D0")
SEQUENTIAL = "viridis"

# What the kinds of line are called in every legend.
VALUE, NULL, RANDOM = "measured", "shuffled pairs", "untrained network"
# The style of what marks a chosen or remarkable layer.
MARKED = "marked"

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


class Rows(altair.InlineData):
    """The rows of a chart, which every copy of it shares: Altair copies and checks data at each step otherwise."""

    _class_is_valid_at_instantiation = False

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(values=rows)

    def __deepcopy__(self, memo: Any) -> Rows:
        return self


def config(*, dark: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of the theme."""
    ink, soft, grid, paper = ("#E8EAED", "#A9B0BA", "#333A44", "#15181D") if dark else (
        "#1B1F24", "#57606A", "#E4E7EB", "#FFFFFF")  # fmt: skip
    labels = {"labelColor": soft, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": paper,
        "font": FONT,
        "padding": 6,
        "view": {"stroke": None, "continuousWidth": 420, "continuousHeight": 240},
        "axis": {
            **labels,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "gridColor": grid,
            "domainColor": soft,
            "tickColor": soft,
            "labelLimit": 160,
            "labelOverlap": True,
        },
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "axisX": {"grid": False},
        "legend": {**labels, "titleFontWeight": 500, "labelLimit": 240, "symbolOpacity": 1, "titlePadding": 4},
        "header": {"labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "title": None},
        "title": {
            "anchor": "start",
            "color": ink,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": soft,
            "subtitleFontSize": 11.5,
            "subtitleLineHeight": 15,
            "subtitlePadding": 4,
            "offset": 12,
        },
        "range": {"category": list(DARK if dark else LIGHT), "heatmap": {"scheme": SEQUENTIAL}},
        "line": {"strokeWidth": 2},
        "point": {"size": 34, "filled": True},
        "area": {"opacity": 0.18},
        "bar": {"color": (DARK if dark else LIGHT)[0]},
        "rule": {"color": ink},
        "text": {"color": ink, "fontSize": 12},
        "style": {MARKED: {"color": soft, "stroke": soft, "opacity": 0.9, "strokeWidth": 1.5}},
    }


def themed(chart: Any, *, dark: bool = False) -> Figure:
    """A copy of a chart with the theme."""
    copy = chart.copy(deep=False)
    copy.config = _parsed(dark)
    return copy  # type: ignore[no-any-return]


@cache
def _parsed(dark: bool) -> Any:
    return alt.Config.from_dict(config(dark=dark), validate=False)
