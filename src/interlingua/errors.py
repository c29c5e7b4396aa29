"""Every error a user can cause, in one tree.

    InterlinguaError
    |-- InputError                an argument that cannot be used
    |   |-- UndefinedError        numbers for which a measure has no value
    |   |-- UnknownNameError      a name that is in no catalogue; says what is close
    |   `-- LanguageError         a tag that names no language
    |-- FormatError               a file that is not what it should be; says file and line
    |-- DataNotFoundError         a file or data set that is in none of the places searched
    |-- DownloadError             a transfer that failed; what arrived is kept for the next try
    |   `-- IntegrityError        bytes that arrived but are not the bytes that were promised
    `-- MissingExtraError         an optional package is needed; says the command that installs it

Messages say what was found, what was needed and what to do, in one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

# More names than this are not listed when one of them is close.
LISTED = 8


class InterlinguaError(Exception):
    """The root: catch this to catch everything this package raises on purpose."""


class InputError(InterlinguaError, ValueError):
    """An argument that cannot be used as it was given."""


class UndefinedError(InputError):
    """Numbers for which a measure has no value: where many are measured, the reason stands in place of one."""


class UnknownNameError(InputError):
    """A name that is in no catalogue. The message says what is close, and what exists where that is not too long."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what = what
        choices = sorted(set(known))
        # Short codes are close to one another without meaning anything alike.
        close = difflib.get_close_matches(name.lower(), choices, n=3, cutoff=0.5) if len(name) > 3 else []
        message = f"unknown {what} {name!r}"
        if close:
            message += f": did you mean {' or '.join(close)}?"
        if choices and (not close or len(choices) <= LISTED):
            message += f"{'' if close else ':'} there {'is' if len(choices) == 1 else 'are'} {', '.join(choices)}"
        if hint:
            message += f" ({hint})"
        super().__init__(message)


class LanguageError(InputError):
    """A tag that names no language."""


class FormatError(InterlinguaError, ValueError):
    """A file that is not what it should be; the message starts with `file:line:`."""

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, int | None, str]]:
        return type(self), (self.path, self.line, self.problem)


class DataNotFoundError(InterlinguaError, FileNotFoundError):
    """A file or data set that is in none of the places searched."""


class DownloadError(InterlinguaError, OSError):
    """A transfer that failed; what arrived is kept, and the next try goes on from there."""


class IntegrityError(DownloadError):
    """Bytes that arrived but are not the bytes that were promised; they are not kept."""


class MissingExtraError(InterlinguaError, ImportError):
    """An optional package is needed for this; the message says how to install it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.arguments = (package, extra, purpose)
        super().__init__(f"{purpose} needs {package}: pip install 'interlingua[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), self.arguments
