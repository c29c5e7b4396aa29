"""Draws the pictures of the documentation from the built-in corpus: python docs/figures/make.py."""

from html import escape
from pathlib import Path

import interlingua as il

HERE = Path(__file__).parent
LANGS = ["en", "fr", "de", "es", "ru", "bg", "et", "tr", "zh", "ar"]
ROWS = ["food-01", "weather-16", "travel-18"]
NAMES = {
    "en": "English", "fr": "French", "de": "German", "es": "Spanish", "ru": "Russian", "bg": "Bulgarian",
    "et": "Estonian", "tr": "Turkish", "zh": "Chinese", "ar": "Arabic",
}  # fmt: skip


def rows() -> str:
    """Three sentences in ten languages, as the tool reads them."""
    corpus = il.parallel("everyday", *LANGS)
    chosen = [corpus.ids.index(key) for key in ROWS]
    line, column, left, top = 28, 290, 104, 64
    width, height = left + column * len(ROWS) + 40, top + line * len(LANGS) + 18
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="14" '
        'font-family="Noto Sans, Noto Sans CJK SC, Noto Sans Arabic, Helvetica, Arial, sans-serif">',
        f'<rect width="{width}" height="{height}" rx="10" fill="#fbfaf7"/>',
    ]
    for k, key in enumerate(ROWS):
        parts.append(f'<text x="{left + k * column}" y="34" font-size="12" fill="#8a8577">row {key}</text>')
    parts.append(f'<line x1="24" x2="{width - 24}" y1="44" y2="44" stroke="#d8d3c4"/>')
    for i, lang in enumerate(LANGS):
        y = top + i * line
        parts.append(f'<text x="24" y="{y + 6}" font-size="12" fill="#8a8577">{NAMES[lang]}</text>')
        for k, row in enumerate(chosen):
            x = left + k * column
            text = escape(corpus[lang][row])
            # Right-to-left text starts at the right edge of its column.
            place = f'x="{x + column - 40}" direction="rtl"' if lang == "ar" else f'x="{x}"'
            parts.append(f'<text {place} y="{y + 6}" fill="#1f3b57">{text}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (HERE / "rows.svg").write_text(rows(), encoding="utf-8")
