"""How papers computed what they published: which variant under which name, from which vectors, in which direction.

Read from their code, which is not always what their text says. For numbers that can be laid beside theirs; never a
default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from interlingua.errors import UnknownNameError
from interlingua.measures.results import Retrieval, Similarity


@dataclass(frozen=True, slots=True)
class Paper:
    """`variants` gives, for a measure of ours, the one the paper prints under that name.

    `forward`: retrieval counts only the way from source to target.
    """

    name: str
    reference: str
    pooling: str
    variants: Mapping[str, str]
    forward: bool = True

    def value(self, result: Similarity) -> float:
        """The number the paper would print."""
        return result.forward if self.forward and isinstance(result, Retrieval) else result.value

    def how(self, measure: str) -> str:
        """What stands behind its number for a measure, in a few words."""
        one_way = ", source to target" if self.forward and self.variants[measure] == "matching" else ""
        return f"{self.name}: {self.variants[measure]}, {self.pooling} pooling{one_way}"


PAPERS: tuple[Paper, ...] = (
    Paper(
        "del2022",
        "Del & Fishel 2022; code TartuNLP/xsim",
        pooling="mean_all",
        variants={
            "anc": "anc",
            "linear_cka": "linear_cka",
            "cca_mean": "cca_top98",
            "svcca": "svcca_top20",
            "pwcca": "pwcca_google",
            "matching": "matching",
        },
    ),
    Paper(
        "muller2021",
        "Muller et al. 2021; code benjamin-mlr/first-align-then-predict",
        pooling="mean",
        variants={"linear_cka": "rbf_cka", "rbf_cka": "rbf_cka"},
    ),
    Paper(
        "wu2020",
        "Wu, Conneau et al. 2020; code never released, as the text says",
        pooling="mean",
        variants={"linear_cka": "linear_cka", "matching": "matching"},
    ),
)


def paper(name: str) -> Paper:
    """The paper of a name; an error that says what is close where there is none."""
    for found in PAPERS:
        if found.name == name:
            return found
    raise UnknownNameError("paper", name, (found.name for found in PAPERS))
