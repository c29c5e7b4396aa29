"""Names for concepts from a language model behind an OpenAI-compatible address. Off unless an address is given.

The words of a concept are sent there, and nothing else. Answers are kept in a file, so that nothing is asked twice; at
most `budget` questions are asked in a run. A name is a guess of that model, not a measurement.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from interlingua.errors import InputError
from interlingua.folders import whole

# Words of a concept that are sent; letters of an answer that are kept; seconds that an answer may take.
SENT, KEPT, PATIENCE = 30, 60, 60.0
# The variable that holds the key, where the address wants one.
KEY = "INTERLINGUA_ASK_KEY"
PROMPT = """A neural network grouped these words together, the most frequent first:

{words}

What do they have in common? Answer with a label of one to four English words and nothing else. If you see nothing that
they have in common, answer: nothing"""


@dataclass
class Asker:
    """Somebody to ask: an address such as http://localhost:8000/v1, and the name of a model there."""

    url: str
    model: str
    cache: Path
    budget: int = 100
    asked: int = 0
    known: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InputError(f"{self.url!r} is no address to ask at: write one such as http://localhost:8000/v1")
        if not self.model:
            raise InputError("say which model to ask, by its name at that address (--ask-model)")
        if self.budget < 0:
            raise InputError(f"a budget of {self.budget} questions: 0 or more are needed")
        if self.cache.exists():
            try:
                self.known = json.loads(self.cache.read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{self.cache} is damaged: remove it, and the questions are asked again") from error

    def names(self, concepts: Iterable[tuple[Any, Iterable[str]]]) -> Iterator[tuple[Any, str]]:
        """(concept, name) of concepts, given with their words, until the budget is spent; known ones cost nothing."""
        for concept, words in concepts:
            question = PROMPT.format(words=", ".join(list(words)[:SENT]))
            key = f"{self.model}\n{question}"
            if key not in self.known:
                if self.asked >= self.budget:
                    continue
                self.asked += 1
                self.known[key] = _one_line(self._answer(question))
                self._keep()
            yield concept, self.known[key]

    def _answer(self, question: str) -> str:
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": 30,
        }
        headers = {"Content-Type": "application/json"}
        if secret := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {secret}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        # the scheme was checked above
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310
                found = json.loads(reply.read(1_000_000))
            return str(found["choices"][0]["message"]["content"])
        except urllib.error.HTTPError as error:
            hint = f" (set {KEY})" if error.code in (401, 403) else ""
            raise InputError(f"{address} answered {error.code}{hint}: what was named before is kept") from error
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            what = " ".join(str(error).split())[:100]
            raise InputError(f"{address} cannot be asked ({what}): what was named before is kept") from error

    def _keep(self) -> None:
        whole(self.cache, json.dumps(self.known, ensure_ascii=False, indent=0).encode())


def _one_line(answer: str) -> str:
    """The first line that says something, without quotes and without what a terminal would obey."""
    for line in answer.splitlines():
        plain = "".join(c for c in line if c.isprintable()).strip().strip("\"'`*.").strip()
        if plain:
            return plain[:KEPT]
    return ""
