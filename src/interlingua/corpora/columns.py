"""Tables as people keep them: TSV without quoting, CSV with, `a ||| b`, JSON lines; one row iterator for all."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpora.files import lines, plain_suffix
from interlingua.errors import FormatError, InputError, UnknownNameError

# A column is named by its heading (or JSON key) or by its position from 0.
Column = str | int

TAB, COMMA, BARS, JSON = "\t", ",", " ||| ", "json"
KINDS = {".tsv": TAB, ".tab": TAB, ".csv": COMMA, ".jsonl": JSON, ".ndjson": JSON, ".json": JSON}


@dataclass(frozen=True)
class Table:
    """A file of rows. `delimiter` is a tab (nothing is a quote), a comma (RFC 4180), ` ||| ` or `json`.

    Every row must have as many cells as the first, unless it is `ragged`: then cells beyond those are ignored.
    """

    path: Path
    delimiter: str
    header: bool
    ragged: bool = False

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every row as cells, header included, with its line number; not for JSON."""
        if self.delimiter == COMMA:
            yield from self._csv()
            return
        for number, line in lines(self.path):
            if line or self.delimiter != BARS:
                yield number, line.split(self.delimiter)

    def _csv(self) -> Iterator[tuple[int, list[str]]]:
        # The csv module joins quoted fields over lines, so it is fed lines with their ends.
        reader = csv.reader((line + "\n" for _, line in lines(self.path)), strict=True)
        start = 1
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FormatError(self.path, start, f"not CSV: {error}") from error
            if row:
                yield start, row
            start = reader.line_num + 1

    def width(self) -> int:
        """The number of columns of the first row."""
        return next((len(cells) for _, cells in self.records()), 0)

    def names(self) -> list[str]:
        """The headings, or the keys of the first JSON object."""
        if self.delimiter == JSON:
            for _, record in self.objects():
                return list(record)
        elif self.header:
            for _, cells in self.records():
                return [cell.strip() for cell in cells]
        else:
            return []
        raise FormatError(self.path, None, "the file is empty")

    def rows(self, columns: Sequence[Column]) -> Iterator[tuple[int, list[str]]]:
        """The wanted cells of every row, with its line number."""
        if self.delimiter == JSON:
            yield from self._json_rows(columns)
            return
        positions: list[int] | None = None
        width = 0
        for number, cells in self.records():
            if positions is None:
                positions = self._positions(columns, cells)
                width = len(cells)
                if self.header:
                    continue
            if len(cells) != width and not (self.ragged and len(cells) > width):
                raise FormatError(self.path, number, f"{len(cells)} columns where the first row has {width}")
            yield number, [cells[p] for p in positions]
        if positions is None:
            raise FormatError(self.path, None, "the file is empty")

    def _positions(self, columns: Sequence[Column], first: Sequence[str]) -> list[int]:
        names = [cell.strip() for cell in first]
        positions = []
        for column in columns:
            if isinstance(column, int):
                if column >= len(first):
                    raise FormatError(self.path, 1, f"{len(first)} columns: there is no column {column + 1}")
                positions.append(column)
            elif not self.header:
                raise InputError(f"{self.path} is read without a header: name columns by number, not {column!r}")
            elif column not in names:
                raise UnknownNameError(f"column in {self.path}", column, names)
            else:
                positions.append(names.index(column))
        return positions

    def _json_rows(self, columns: Sequence[Column]) -> Iterator[tuple[int, list[str]]]:
        seen = False
        for number, line in lines(self.path):
            if not line.strip():
                continue
            seen = True
            record = self._object(number, line)
            cells = []
            for key in columns:
                if key not in record:
                    raise FormatError(self.path, number, f"no {key!r}: it has {', '.join(map(repr, record))}")
                value = record[str(key)]
                if isinstance(value, dict | list) or value is None:
                    raise FormatError(self.path, number, f"{key!r} is {value!r}, not text")
                cells.append(value if isinstance(value, str) else json.dumps(value))
            yield number, cells
        if not seen:
            raise FormatError(self.path, None, "the file is empty")

    def objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        """Every JSON object, with its line number."""
        for number, line in lines(self.path):
            if line.strip():
                yield number, self._object(number, line)

    def _object(self, number: int, line: str) -> dict[str, object]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(self.path, number, f"not JSON: {str(error).splitlines()[0]}") from error
        if not isinstance(record, dict):
            raise FormatError(self.path, number, f"a JSON {type(record).__name__} where an object was expected")
        return record


def open_table(path: Path, *, delimiter: str | None = None, header: bool | None = None, ragged: bool = False) -> Table:
    """A table with the delimiter its suffix implies; `header` defaults to True for CSV and TSV."""
    chosen = delimiter or KINDS.get(plain_suffix(path)) or _sniff(path)
    return Table(path, chosen, (chosen in (TAB, COMMA)) if header is None else header, ragged)


def _sniff(path: Path) -> str:
    for number, line in lines(path):
        for delimiter in (BARS, TAB):
            if delimiter in line:
                return delimiter
        raise FormatError(path, number, "no tab and no ' ||| ' in the first line: is this a table?")
    raise FormatError(path, None, "the file is empty")
