"""How the cost of measures grows with sentences, neurons, languages and layers: a figure with the measured exponents.

OMP_NUM_THREADS=1 python benchmarks/scaling.py                   writes benchmarks/scaling.svg and prints the table

One thread, CPU seconds: the seven linear indexes of one pair (rows, neurons, layers), ANC and both CKAs of all pairs
(languages), and matching and CSLS (rows). An exponent e means that twice as much takes 2^e times as long.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from clock import seconds
from measures import all_pairs, ours, pair

from interlingua import measures

FIGURE = Path(__file__).with_suffix(".svg")


def runs(rng):
    """(what grows, what is measured, how much of it, the work)."""
    for n in (2_500, 5_000, 10_000, 20_000):
        x, y = pair(rng, n, 256)
        yield "sentences", "seven indexes, 256 neurons", n, lambda x=x, y=y: ours(x, y)
        yield "sentences", "matching", n, lambda x=x, y=y: measures.matching(x, y)
        yield "sentences", "CSLS", n, lambda x=x, y=y: measures.csls(x, y)
    for p in (128, 256, 512, 1024):
        x, y = pair(rng, 10_000, p)
        yield "neurons", "seven indexes, 10,000 sentences", p, lambda x=x, y=y: ours(x, y)
    for count in (2, 4, 8, 16):
        langs = [pair(rng, 5_000, 256)[0] for _ in range(count)]
        yield "languages", "ANC and CKAs, all pairs", count, lambda langs=langs: all_pairs(langs)
    x, y = pair(rng, 5_000, 256)
    for count in (1, 2, 4, 8, 16):
        yield "layers", "seven indexes", count, lambda x=x, y=y, count=count: [ours(x, y) for _ in range(count)]


def exponents(table):
    """The slope of log seconds over log size, by line."""
    return {
        key: float(np.polyfit(np.log(rows["size"]), np.log(rows["seconds"]), 1)[0])
        for key, rows in table.groupby(["grows", "what"], sort=False)
    }


def figure(table, slopes):
    """One panel for each thing that grows, on logarithmic axes."""
    table = table.assign(
        line=[f"{what}: exponent {slopes[g, what]:.2f}" for g, what in zip(table.grows, table.what, strict=True)]
    )
    panels = [
        alt.Chart(rows, title=str(grows), width=220, height=180)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "size:Q",
                title=str(grows),
                scale=alt.Scale(type="log", nice=False, padding=12),
                axis=alt.Axis(values=sorted(set(rows["size"])), format=","),
            ),
            y=alt.Y("seconds:Q", title="CPU seconds", scale=alt.Scale(type="log")),
            color=alt.Color(
                "line:N", title=None, legend=alt.Legend(orient="bottom", direction="vertical", labelLimit=400)
            ),
        )
        for grows, rows in table.groupby("grows", sort=False)
    ]
    return alt.hconcat(*panels).resolve_scale(color="independent").configure_view(stroke=None)


def main():
    """Measure, print, draw."""
    rng = np.random.default_rng(0)
    ours(*pair(rng, 500, 64))  # warm
    rows = []
    for grows, what, size, work in runs(rng):
        rows.append({"grows": grows, "what": what, "size": size, "seconds": min(seconds(work)[0] for _ in range(2))})
    table = pd.DataFrame(rows)
    slopes = exponents(table)
    print("| grows | what | sizes | seconds | exponent |\n|---|---|---|---|---:|")
    for (grows, what), slope in slopes.items():
        chosen = table[(table.grows == grows) & (table.what == what)]
        sizes, spent = ", ".join(f"{v:,}" for v in chosen["size"]), ", ".join(f"{v:.2f}" for v in chosen.seconds)
        print(f"| {grows} | {what} | {sizes} | {spent} | {slope:.2f} |")
    figure(table, slopes).save(FIGURE)


if __name__ == "__main__":
    main()
