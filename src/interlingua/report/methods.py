"""The methods section of a paper, from what was asked for and measured; and the works to cite for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlingua import __version__
from interlingua.report.rows import distinct, of_baseline, text
from interlingua.report.tables import Tables

# Measure -> how a sentence calls it, and the works that say what it is.
MEASURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "anc": ("average neuron-wise correlation (ANC)", ("del2022",)),
    "anc_signed": ("average neuron-wise correlation with its sign", ("del2022",)),
    "linear_cka": ("linear centred kernel alignment (CKA)", ("kornblith2019", "wu2020")),
    "debiased_cka": ("linear CKA from unbiased estimates of HSIC", ("kornblith2019", "song2012")),
    "rbf_cka": ("CKA with a Gaussian kernel and the median rule", ("kornblith2019", "muller2021")),
    "cca_mean": ("mean canonical correlation", ("raghu2017",)),
    "cca_r2": ("mean squared canonical correlation", ("del2022",)),
    "cca_top98": ("mean of the leading canonical correlations", ("raghu2017",)),
    "svcca": ("singular vector canonical correlation (SVCCA)", ("raghu2017",)),
    "svcca_top20": ("SVCCA over 20 directions", ("raghu2017",)),
    "pwcca": ("projection-weighted CCA (PWCCA)", ("morcos2018",)),
    "pwcca_symmetric": ("projection-weighted CCA, mean of both directions", ("morcos2018",)),
    "pwcca_google": ("projection-weighted CCA as published code computes it", ("morcos2018",)),
    "procrustes": ("orthogonal Procrustes similarity", ()),
    "rsa": ("representational similarity analysis (RSA)", ()),
    "mutual_knn": ("overlap of nearest neighbours", ()),
    "matching": ("matching, the share of sentences whose nearest neighbour by cosine is the translation", ("del2022",)),
    "csls": ("matching by cross-domain similarity local scaling (CSLS)", ("conneau2018",)),
    "margin": ("matching by the ratio margin", ("artetxe2019",)),
}  # fmt: skip

# Key -> author and year as a sentence cites them, and the entry.
WORKS: dict[str, tuple[str, str]] = {
    "del2022": (
        "Del & Fishel 2022",
        """@inproceedings{del2022,
  title = {Cross-lingual Similarity of Multilingual Representations Revisited},
  author = {Del, Maksym and Fishel, Mark},
  booktitle = {Proceedings of AACL-IJCNLP 2022 (Volume 1: Long Papers)},
  pages = {185--195},
  year = {2022}
}""",
    ),
    "wu2020": (
        "Conneau, Wu et al. 2020",
        """@inproceedings{wu2020,
  title = {Emerging Cross-lingual Structure in Pretrained Language Models},
  author = {Conneau, Alexis and Wu, Shijie and Li, Haoran and Zettlemoyer, Luke and Stoyanov, Veselin},
  booktitle = {Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},
  pages = {6022--6034},
  year = {2020}
}""",
    ),
    "muller2021": (
        "Muller et al. 2021",
        """@inproceedings{muller2021,
  title = {First Align, then Predict: Understanding the Cross-Lingual Ability of Multilingual {BERT}},
  author = {Muller, Benjamin and Elazar, Yanai and Sagot, Beno{\\^i}t and Seddah, Djam{\\'e}},
  booktitle = {Proceedings of EACL 2021: Main Volume},
  pages = {2214--2231},
  year = {2021}
}""",
    ),
    "kornblith2019": (
        "Kornblith et al. 2019",
        """@inproceedings{kornblith2019,
  title = {Similarity of Neural Network Representations Revisited},
  author = {Kornblith, Simon and Norouzi, Mohammad and Lee, Honglak and Hinton, Geoffrey},
  booktitle = {Proceedings of the 36th International Conference on Machine Learning},
  pages = {3519--3529},
  year = {2019}
}""",
    ),
    "raghu2017": (
        "Raghu et al. 2017",
        """@inproceedings{raghu2017,
  title = {{SVCCA}: Singular Vector Canonical Correlation Analysis for Deep Learning Dynamics and Interpretability},
  author = {Raghu, Maithra and Gilmer, Justin and Yosinski, Jason and Sohl-Dickstein, Jascha},
  booktitle = {Advances in Neural Information Processing Systems 30},
  year = {2017}
}""",
    ),
    "morcos2018": (
        "Morcos et al. 2018",
        """@inproceedings{morcos2018,
  title = {Insights on Representational Similarity in Neural Networks with Canonical Correlation},
  author = {Morcos, Ari S. and Raghu, Maithra and Bengio, Samy},
  booktitle = {Advances in Neural Information Processing Systems 31},
  year = {2018}
}""",
    ),
    "conneau2018": (
        "Conneau et al. 2018",
        """@inproceedings{conneau2018,
  title = {Word Translation Without Parallel Data},
  author = {Conneau, Alexis and Lample, Guillaume and Ranzato, Marc'Aurelio and Denoyer, Ludovic and
            J{\\'e}gou, Herv{\\'e}},
  booktitle = {International Conference on Learning Representations},
  year = {2018}
}""",
    ),
    "artetxe2019": (
        "Artetxe & Schwenk 2019",
        """@inproceedings{artetxe2019,
  title = {Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings},
  author = {Artetxe, Mikel and Schwenk, Holger},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  pages = {3197--3203},
  year = {2019}
}""",
    ),
    "song2012": (
        "Song et al. 2012",
        """@article{song2012,
  title = {Feature Selection via Dependence Maximization},
  author = {Song, Le and Smola, Alex and Gretton, Arthur and Bedo, Justin and Borgwardt, Karsten},
  journal = {Journal of Machine Learning Research},
  volume = {13},
  pages = {1393--1434},
  year = {2012}
}""",
    ),
}


def methods(tables: Tables) -> str:
    """Paragraphs that say what was done, for the methods section of a paper."""
    parts = (
        _what(tables),
        _prepared(tables.config),
        _measures(tables),
        _certainty(tables),
        _tested(tables),
        _merged(tables),
    )
    return "\n\n".join(filter(None, parts))


def bibtex(tables: Tables) -> str:
    """The entries of the works that `methods` cites, oldest first."""
    cited = works(tables)
    return "\n\n".join(WORKS[key][1] for key in sorted(cited, key=lambda key: (key[-4:], key)))


def works(tables: Tables) -> list[str]:
    """Keys of the works behind the measures that were used."""
    keys = [key for measure in _used(tables) for key in MEASURES.get(measure, ("", ()))[1]]
    return distinct([*keys, *(["muller2021"] if len(tables.patterns) else [])])


def _used(tables: Tables) -> list[str]:
    return distinct(map(str, tables.values["measure"]))


def _what(tables: Tables) -> str:
    config, values = tables.config, tables.values
    models = [str(m) for m in config.get("models", [])] or distinct(map(str, values[~of_baseline(values)]["model"]))
    langs = distinct(map(str, [*values["source"], *values["target"]]))
    corpus: Mapping[str, Any] = config["corpus"] if isinstance(config.get("corpus"), Mapping) else {}
    n = corpus.get("rows") or (int(values["n"].max()) if values["n"].notna().any() else None)
    poolings = [p for p in distinct(map(text, values["pooling"])) if p]
    pooled = f", pooled over tokens by {_and(poolings)}" if poolings else ""
    name = f" of the corpus {corpus['name']}" if corpus.get("name") else ""
    notes = [str(note) for note in corpus.get("notes", [])]
    name += f" ({'; '.join(notes)})" if notes else ""
    read = f"the same {n:,} parallel sentences{name}" if isinstance(n, int) else f"the same parallel sentences{name}"
    return (
        f"We compared the representations of {_and(langs)} inside {_and(models)} with Interlingua {_version(config)}. "
        f"{'Each' if len(models) > 1 else 'The'} model read {read} in every language, and every layer gave a vector a "
        f"sentence{pooled}; layer 0 is the embeddings."
    )


def _prepared(config: Mapping[str, Any]) -> str:
    """What was done to the vectors first, if anything."""
    asked = config.get("preparation")
    if not isinstance(asked, Mapping):
        return ""
    left_out, dropped = asked.get("without_neurons") or [], asked.get("drop_components") or 0
    steps = [
        f"without neurons {_and([str(n) for n in left_out])}" if left_out else "",
        "with its mean removed" if asked.get("remove_mean") else "",
        f"with its top {dropped} principal components removed" if dropped else "",
        "with every neuron standardised" if asked.get("standardise") else "",
    ]
    named = [step for step in steps if step]
    return f"Before that, each language's vectors were taken {_and(named)}." if named else ""


def _measures(tables: Tables) -> str:
    named = []
    for measure in _used(tables):
        words, keys = MEASURES.get(measure, (measure, ()))
        named.append(words + (f" ({'; '.join(WORKS[key][0] for key in keys)})" if keys else ""))
    paper = str(tables.config.get("as_published") or "")
    beside = f" Beside stands what the code or text of {WORKS[paper][0]} gives." if paper in WORKS else ""
    return f"Similarity was measured by {_and(named)}.{beside}" if named else ""


def _certainty(tables: Tables) -> str:
    config, values = tables.config, tables.values
    parts = []
    if values["low"].notna().any():
        blocks = config.get("blocks")
        how = f"a jackknife over {blocks} blocks of sentences" if isinstance(blocks, int) else "a block jackknife"
        parts.append(f"Intervals are 95% intervals from {how}; those of retrieval are over sentences.")
    if values["null"].notna().any():
        nulls, seed = config.get("nulls"), config.get("seed")
        often = f" {nulls} times" if isinstance(nulls, int) else ""
        seeded = f" (seed {seed})" if isinstance(seed, int) else ""
        parts.append(
            f"The chance level of each value is its mean after shuffling the pairing of sentences{often}{seeded}."
        )
    if of_baseline(values).any():
        parts.append("The same architecture with random weights, given the same sentences, serves as a baseline.")
    return " ".join(parts)


def _tested(tables: Tables) -> str:
    if not len(tables.patterns):
        return ""
    return (
        "Whether similarity rises from the embeddings to a middle layer and falls to the last (Muller et al. 2021) was "
        "tested on sentences that had no part in choosing the middle layer."
    )


def _merged(tables: Tables) -> str:
    """In what the runs of a merged report differ, run by run."""
    differ = tables.config.get("differ")
    if not isinstance(differ, Mapping) or not differ.get("runs"):
        return ""
    told = []
    for i, run in enumerate(differ["runs"]):
        own = [f"{key.replace('_', ' ')} {_value(all_[i])}" for key, all_ in differ.items() if key != "runs"]
        told.append(f"{run} with {'; '.join(own)}")
    return f"The numbers come from several runs, described here by the first; they differ: {'. '.join(told)}."


def _value(value: Any) -> str:
    """A setting in words: of several, those that were set."""
    if isinstance(value, Mapping):
        return (
            _and([f"{k.replace('_', ' ')} {_value(v)}" for k, v in value.items() if v])
            if any(value.values())
            else "none"
        )
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    return (
        "none"
        if value in (None, "")
        else {True: "yes", False: "no"}.get(value, str(value))
        if isinstance(value, bool)
        else str(value)
    )


def _version(config: Mapping[str, Any]) -> str:
    versions = config.get("versions")
    return str(versions.get("interlingua", __version__)) if isinstance(versions, Mapping) else __version__


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "several languages"
