"""What claims on concepts are judged by: from the table of the study `concepts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from interlingua.errors import InputError
from interlingua.models.load import DECODER, ENCODER
from interlingua.stats import spearman
from interlingua.studies.claims import Part
from interlingua.studies.estimates import Estimate, MissingRowsError, best, chosen, curve, each, fisher, mean
from interlingua.studies.measured import AFTER, BEFORE, RANDOM

if TYPE_CHECKING:
    import pandas as pd

BASE, NER, SENTIMENT, SPAN, TRANSLATION = "encoder", "ner", "sentiment", "span", "translation"
# Every pair that is tuned on, both ways.
MANY = "many"
# The second language that is tuned on; the others are without labels.
SECOND = "de"
MEASURES = ("calign", "colap", "colap_types", "suffix", "lexical")
SCORES = {NER: "ner f1", SENTIMENT: "sentiment accuracy", TRANSLATION: "translation bleu"}
# CALIGN under other thresholds; and what is usual.
SWEPT = tuple(f"calign, {name} " for name in ("match", "best", "types"))
USUAL = ("calign, match 0.8", "calign, best 10", "calign, types 5", "colap, threshold 0.3")


def _of(
    rows: pd.DataFrame, measure: str, to: str, kind: str, *, state: str = "", stack: str = "", pair: str = ""
) -> pd.DataFrame:
    """English with a language, by layer."""
    state = state or (BEFORE if kind in (BASE, SPAN) else AFTER)
    return chosen(
        rows, kind=kind, pair=pair, state=state, pooling=stack, measure=measure, source="en", target=to
    )  # fmt: skip


def _values(rows: pd.DataFrame, measure: str, to: str, kind: str, **which: str) -> list[Estimate]:
    return curve(_of(rows, measure, to, kind, **which))


def _upper(rows: pd.DataFrame, measure: str, to: str, kind: str, **which: str) -> Estimate:
    """The mean over the upper half of the layers."""
    found = _of(rows, measure, to, kind, **which)
    return mean(curve(found[found["layer"] >= found["layer"].max() / 2]))


def _score(rows: pd.DataFrame, kind: str, target: str, pair: str = "") -> Estimate:
    return curve(chosen(rows, kind=kind, pair=pair, measure=SCORES[kind], target=target))[0]


def _langs(table: pd.DataFrame, without: Sequence[str] = ()) -> list[str]:
    found = dict.fromkeys(chosen(table, kind=BASE, measure="calign", source="en")["target"])
    return [lang for lang in found if lang not in without]


def _from(lang: str) -> dict[str, str]:
    return {"kind": TRANSLATION, "pair": f"{lang}-en"}


def _learnt(table: pd.DataFrame, kinds: Sequence[str] = (), langs: Sequence[str] = ()) -> Iterator[Part]:
    """Scores of what was tuned: in English, or of what is translated from each language by the model of its own."""
    yield from each(table, kinds, lambda rows, kind: _score(rows, kind, "en"))
    yield from each(
        table, [f"{lang}-en" for lang in langs], lambda rows, pair: _score(rows, TRANSLATION, pair, pair)
    )  # fmt: skip


def _gain(rows: pd.DataFrame, kind: str, to: str, pair: str = f"{SECOND}-en") -> Estimate:
    """What tuning adds to CALIGN in the upper half."""
    if kind == TRANSLATION:
        tuned = _upper(rows, "calign", to, kind, pair=pair, stack=ENCODER)
        return tuned - _upper(rows, "calign", to, SPAN, stack=ENCODER)
    return _upper(rows, "calign", to, kind) - _upper(rows, "calign", to, BASE)


def _deeper(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        found = _of(rows, "calign", to, NER)
        return best(curve(found[found["layer"] >= found["layer"].max() / 2])) - curve(found)[0]

    return each(table, [SECOND], made)


def _raised(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, [NER, SENTIMENT, TRANSLATION], lambda rows, kind: _gain(rows, kind, SECOND))


def _without_labels(table: pd.DataFrame) -> Iterator[Part]:
    keys = [(kind, lang) for kind in (NER, TRANSLATION) for lang in _langs(table, [SECOND])]
    return each(table, keys, _gain)


def _order(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, kind: str) -> Estimate:
        pair = {NER: ("", ""), TRANSLATION: (f"{SECOND}-en", "-en")}[kind]
        scores = {lang: _score(rows, kind, lang + pair[1], pair[0]).value for lang in _langs(rows, [SECOND])}
        if len(scores) < 2:
            raise MissingRowsError
        ordered = sorted(scores, key=lambda lang: scores[lang])
        return _gain(rows, kind, ordered[-1]) - _gain(rows, kind, ordered[0])

    return each(table, [NER, TRANSLATION], made)


def _is_aligned(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        both = [best(_values(rows, "calign", to, SPAN, state=state, stack=ENCODER)) for state in (BEFORE, RANDOM)]
        return both[0] - both[1]

    return each(table, [SECOND], made)


def _stacks(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        encoder, decoder = (best(_values(rows, "calign", to, SPAN, stack=stack)) for stack in (ENCODER, DECODER))
        return encoder - decoder

    return each(table, [SECOND], made)


def _hardly(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, [SECOND], lambda rows, to: best(_values(rows, "calign", to, SPAN, stack=DECODER)))


def _related(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, near: str, far: str) -> Estimate:
        one, other = (mean(_values(rows, "colap", to, SPAN, stack=DECODER)[1:]) for to in (near, far))
        return one - other

    return each(table, pairwise(("fr", "de", "ar")), made)


def _specific(table: pd.DataFrame) -> Iterator[Part]:
    return each(table, [SECOND], lambda rows, to: _values(rows, "colap", to, stack=DECODER, **_from(SECOND))[-1])


def _dropped(table: pd.DataFrame, stack: str, of: Mapping[str, str]) -> Iterator[Part]:
    """The last layer less the highest."""

    def made(rows: pd.DataFrame, to: str) -> Estimate:
        found = _values(rows, "colap", to, stack=stack, **of)
        return found[-1] - best(found)

    return each(table, [SECOND], made)


def _form(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, kind: str) -> Estimate:
        """Of English, in the text that it has with the second language."""
        found = chosen(
            rows, kind=kind, state=BEFORE if kind == BASE else AFTER, measure="suffix", source="en", target=""
        )  # fmt: skip
        found = found.drop_duplicates("layer")
        deepest = found["layer"].max()
        low, high = found[found["layer"] <= deepest / 3], found[found["layer"] >= 2 * deepest / 3]
        return mean(curve(low)) - mean(curve(high))

    return each(table, [BASE, NER], made)


def _same(table: pd.DataFrame) -> Iterator[Part]:
    """Ranks under another threshold, with Fisher's interval."""

    def made(rows: pd.DataFrame, measure: str) -> Estimate:
        mine = rows[rows["kind"].isin([BASE, NER]) & (rows["state"] != RANDOM) & (rows["source"] == "en")]
        where = ["kind", "target", "layer"]
        both = [mine[mine["measure"] == name].set_index(where)["value"].astype(float) for name in ("calign", measure)]
        known = both[0].to_frame("usual").join(both[1].rename("other"), how="inner").dropna()
        if len(known) < 5:
            raise MissingRowsError
        try:
            rho = spearman(known["usual"].tolist(), known["other"].tolist(), rng=0).value
        except InputError as error:  # constant
            raise MissingRowsError from error
        return fisher(rho, len(known), 1.06)

    names = [str(name) for name in dict.fromkeys(table["measure"])]
    return each(table, [name for name in names if name.startswith(SWEPT) and name not in USUAL], made)


def _overlaps(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        tuned, base = ({"stack": ENCODER, **of} for of in (_from(to), {"kind": SPAN}))
        if to == SECOND:
            return mean(_values(rows, "colap", to, **tuned)[1:]) - mean(_values(rows, "colap", to, **base)[1:])
        return _upper(rows, "colap", to, **tuned) - _upper(rows, "colap", to, **base)

    return each(table, [SECOND, "ar"], made)


def _close(table: pd.DataFrame) -> Iterator[Part]:
    def made(rows: pd.DataFrame, to: str) -> Estimate:
        without, own = (mean(_values(rows, "colap", to, stack=ENCODER, **_from(lang))[1:]) for lang in (SECOND, to))
        return without - own

    return each(table, ["fr", "ar"], made)


def _needs(*names: tuple[str, str]) -> Any:
    """Cells of these kinds and pairs."""
    return lambda cell: (cell.settings["kind"], cell.settings["pair"]) in names


ESTIMATES: dict[str, Callable[[pd.DataFrame], Iterable[Part]]] = {
    "C1.learnt": lambda table: _learnt(table, [NER]),
    "C1.deeper": _deeper,
    "C2.learnt": lambda table: _learnt(table, [NER, SENTIMENT], [SECOND]),
    "C2.raised": _raised,
    "C3.learnt": lambda table: _learnt(table, [NER], [SECOND]),
    "C3.raised": _without_labels,
    "C3.order": _order,
    "C4.aligned": _is_aligned,
    "C4.apart": _stacks,
    "C4.hardly": _hardly,
    "C5.learnt": _is_aligned,
    "C5.order": _related,
    "C6.learnt": lambda table: _learnt(table, langs=[SECOND]),
    "C6.specific": _specific,
    "C6.dropped": lambda table: _dropped(table, DECODER, _from(SECOND)),
    "C6.spared": lambda table: _dropped(table, "", {"kind": NER}),
    "C7.form": _form,
    "C8.same": _same,
    "C9.learnt": lambda table: _learnt(table, langs=[SECOND, "ar"]),
    "C9.raised": _overlaps,
    "C10.learnt": lambda table: _learnt(table, langs=[SECOND, "fr", "ar"]),
    "C10.close": _close,
}
NEEDS = {
    "C1": _needs((NER, "")),
    "C2": _needs((BASE, ""), (NER, ""), (SENTIMENT, ""), (SPAN, ""), (TRANSLATION, f"{SECOND}-en")),
    "C3": _needs((BASE, ""), (NER, ""), (SPAN, ""), (TRANSLATION, f"{SECOND}-en")),
    "C4": _needs((SPAN, "")),
    "C5": _needs((SPAN, "")),
    "C6": _needs((NER, ""), (TRANSLATION, f"{SECOND}-en")),
    "C7": _needs((BASE, ""), (NER, "")),
    "C8": _needs((BASE, ""), (NER, "")),
    "C9": _needs((SPAN, ""), (TRANSLATION, f"{SECOND}-en"), (TRANSLATION, "ar-en")),
    "C10": _needs(*((TRANSLATION, f"{lang}-en") for lang in (SECOND, "fr", "ar"))),
}
