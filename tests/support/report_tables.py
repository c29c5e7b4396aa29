"""Tables of a report, made up: any number of models, languages, layers and measures, and strings that mean harm."""

import math
import random

from interlingua.report.tables import Tables

LANGS = "en fr de ru zh-Hans ar hi sw et tr".split()
MEASURES = ("anc", "linear_cka", "debiased_cka", "cca_mean", "matching", "csls")
WORDS = "the old bridge over a quiet river was closed when heavy rain came down from high hills last spring".split()

SCRIPT = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
HOSTILE = (
    SCRIPT,
    '"><svg onload="window.pwned=3">\'`${window.pwned=4}`',
    "\u202eright to left\u202d \u2028window.pwned=5\u2029 \u0000 end",
    "long" * 2500,
    '=HYPERLINK("http://example.com/?"&A1,"click")',
    "<!--<script>{{data}} $title %s {0}",
)


def tables(
    models=2,
    langs=4,
    layers=5,
    measures=MEASURES,
    *,
    n=1000,
    all_pairs=False,
    hostile=False,
    seed=0,
    poolings=("mean",),
):
    """A report's tables; with `hostile`, models, languages and sentences are strings that mean harm."""
    rng = random.Random(seed)
    tags = LANGS[:langs]
    names = [f"lab/model-{chr(97 + i)}" for i in range(models)]
    if hostile:
        tags = [*tags[:1], *(h if len(h) < 200 else h[:300] for h in HOSTILE)]
        names = [f"lab/{h}" for h in HOSTILE[:models]]
    pairs = [(a, b) for i, a in enumerate(tags) for b in tags[i + 1 :] if all_pairs or i == 0]
    sentences = {tag: [_sentence(rng, hostile, k) for k in range(60 if n < 5000 else n)] for tag in tags}
    rows = {
        name: [] for name in ("values", "neurons", "histograms", "geometry", "worst", "prepared", "layers", "patterns")
    }
    for model in names:
        for pooling in poolings:
            for layer in range(layers):
                _layer(rows, rng, model, pooling, layer, layers, pairs, tags, measures, n, sentences)
            for pair in pairs[:1]:
                for measure in measures[:1]:
                    rows["patterns"].append(
                        {
                            "model": model,
                            "pooling": pooling,
                            "source": "",
                            "target": "",
                            "measure": measure,
                            "holds": True,
                            "peak": layers // 2,
                            "rise": 0.2,
                            "fall": 0.1,
                            "rise_low": 0.15,
                            "fall_low": 0.05,
                        }
                    )
                    for a in range(layers):
                        for b in range(layers):
                            rows["layers"].append(
                                {
                                    "model": model,
                                    "pooling": pooling,
                                    "source": pair[0],
                                    "target": pair[1],
                                    "measure": "linear_cka",
                                    "source_layer": a,
                                    "target_layer": b,
                                    "value": math.exp(-abs(a - b) / 4),
                                }
                            )
    config = {
        "models": names,
        "corpus": {"name": HOSTILE[0] if hostile else "everyday", "licence": "CC0", "rows": n, "languages": tags},
        "measures": list(measures),
        "poolings": list(poolings),
        "blocks": 20,
        "nulls": 5,
        "seed": 0,
        "versions": {"interlingua": "0.1.0", "python": "3.12.0", "torch": "2.9.0"},
    }
    return Tables.of(config, **rows)


def _sentence(rng, hostile, k):
    if hostile:
        return HOSTILE[k % len(HOSTILE)] + str(k // len(HOSTILE))
    return f"{' '.join(rng.choices(WORDS, k=rng.randint(5, 16)))} {k}."


def _layer(rows, rng, model, pooling, layer, layers, pairs, tags, measures, n, sentences):
    depth = layer / max(1, layers - 1)
    for number, (a, b) in enumerate(pairs):
        at = {"model": model, "pooling": pooling, "layer": layer, "source": a, "target": b}
        for k, measure in enumerate(measures):
            value = (
                0.2
                + (0.55 - 0.03 * number) * math.sin(math.pi * min(1, depth * (0.85 + 0.08 * k)) * 0.9)
                + rng.uniform(-0.02, 0.02)
            )
            facts = {
                "value": value,
                "low": value - 0.03,
                "high": value + 0.03,
                "null": 0.05,
                "p": None,
                "n": n,
                "published": None,
                "published_as": None,
                "notes": "",
            }
            if measure.startswith("cca"):
                facts |= {
                    "low": None,
                    "high": None,
                    "null": 0.6,
                    "notes": "too few rows: CCA is not interpretable below 8,000",
                }
            if measure == "csls" and layer == 0:
                facts |= {"value": math.nan, "low": None, "high": None, "notes": "undefined here"}
            for baseline in (False, True):
                random_value = {} if not baseline else {"value": 0.12 + 0.02 * rng.random(), "low": 0.1, "high": 0.15}
                sign = f"measure:{measure}|revision:1|pair:{a}-{b}|layer:{layer}|n:{n}|level:sentence|pooling:{pooling}|prepared:no|corpus:8a3838e8|model:{'r' if baseline else 'm'}{len(model)}|version:0.1.0"
                rows["values"].append(
                    {**at, "measure": measure, **facts, **random_value, "baseline": baseline, "signature": sign}
                )
        _behind(rows, rng, at, value, sentences)
    for tag in tags:
        for baseline in (False, True):
            rows["geometry"].append(
                {
                    "model": model,
                    "pooling": pooling,
                    "layer": layer,
                    "lang": tag,
                    "baseline": baseline,
                    "anisotropy": (0.1 if baseline else 0.2 + 0.5 * depth) + rng.uniform(0, 0.05),
                    "effective_rank": 300 - 150 * depth + rng.uniform(0, 20),
                    "outliers": "12 300" if depth > 0.6 else "",
                    "outlier_share": 0.4 * depth,
                    "language_share": 0.3 - 0.2 * math.sin(math.pi * depth),
                }
            )


def _behind(rows, rng, at, value, sentences):
    correlations = sorted((max(-1, min(1, rng.gauss(value, 0.15))) for _ in range(50)), key=abs, reverse=True)
    rows["neurons"] += [{**at, "neuron": rng.randrange(768), "correlation": c} for c in correlations]
    for k in range(40):
        low = -1 + k / 20
        count = round(300 * math.exp(-(((low - value) / 0.2) ** 2)))
        rows["histograms"].append({**at, "from": round(low, 9), "to": round(low + 0.05, 9), "neurons": count})
    source, target = sentences[at["source"]], sentences[at["target"]]
    for place in range(1, 21):
        i, j = rng.randrange(len(source)), rng.randrange(len(source))
        rows["worst"].append(
            {
                **at,
                "place": place,
                "id": f"s{i}",
                "text": source[i],
                "translation": target[i],
                "score": 0.3 + place / 100,
                "nearest_id": f"s{j}",
                "nearest": target[j],
                "nearest_score": 0.6,
            }
        )
    for name, gain in (
        ("as they are", 0),
        ("mean removed", 0.08),
        ("mean and top direction removed", 0.1),
        ("standardised", 0.03),
    ):
        rows["prepared"].append(
            {**at, "preparation": name, "value": value + gain, "low": value + gain - 0.03, "high": value + gain + 0.03}
        )
