"""Text of any script in a terminal: columns line up, nothing moves the cursor, right-to-left stays in its cell."""

from __future__ import annotations

import unicodedata

import regex
from rich.cells import cell_len

# Around a right-to-left cell: its order stays inside it, in terminals that know about direction; no width.
ISOLATE, POP = "\u2067", "\u2069"
# Format characters that belong to the spelling of some languages.
JOINERS = frozenset("\u200c\u200d")
NEVER_FIRST = frozenset("。，、；：？！）》」』】”’")


def visible(text: str) -> str:
    """Control and format characters as something one can see: `␉`, `␊`, `<U+202E>`."""
    if text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if char not in JOINERS and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"<U+{code:04X}>"
    return char


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells; broken at spaces, and between characters where there are none (Chinese, Thai)."""
    lines: list[str] = []
    line = ""
    for word in regex.findall(r"\s*\S+", text) or [""]:
        if cell_len(line + word) <= width:
            line += word
            continue
        # A word of a script without spaces fills the line; any other starts the next one.
        spaceless = cell_len(word.strip()) > width
        if line and not spaceless:
            lines.append(line)
            line, word = "", word.strip()
        for character in regex.findall(r"\X", word):
            if cell_len(line + character) > width:
                # No line starts with a full stop or a closing bracket: the character before it comes along.
                kept = len(line) - (character in NEVER_FIRST and len(line) > 1)
                lines.append(line[:kept])
                line = line[kept:]
                character = character.lstrip()
            line += character
    return [*lines, line]


def cell(text: str, width: int, *, right_to_left: bool = False) -> list[str]:
    """The lines of a cell, made visible, wrapped, and padded to exactly `width` cells."""
    result = []
    for line in wrap(visible(text), width):
        padding = " " * (width - cell_len(line))
        result.append(f"{padding}{ISOLATE}{line}{POP}" if right_to_left else line + padding)
    return result
