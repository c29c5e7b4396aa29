"""The catalogue of studies: a line each, the name of a module here that has a `STUDY`."""

from __future__ import annotations

from importlib import import_module

from interlingua.errors import UnknownNameError
from interlingua.studies.study import Study

STUDIES: tuple[str, ...] = (
    "normalisation",
    "scaling",
    "structure",
    "monolingual",
    "random-init",
    "unseen",
    "concepts",
)


def find(name: str) -> Study:
    """The study of a name; an error that says what is close where there is none."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    found: Study = import_module(f"interlingua.studies.{name.replace('-', '_')}").STUDY
    return found
