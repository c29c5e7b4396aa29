"""Puts the catalogue into the documentation at build time, so that the two cannot differ."""

from typing import Any

from interlingua.corpora import CATALOG


def catalogue() -> str:
    """The catalogue as a table."""
    lines = ["| name | what | default split | licence | origin | cite |", "|---|---|---|---|---|---|"]
    for d in CATALOG:
        page = d.origin.page
        origin = f"[origin]({page})" if page.startswith("http") else page
        if not d.origin.verified:
            origin += " (unverified)"
        split = d.aliases.get(d.split, d.split)
        lines.append(f"| `{d.name}` | {d.kind}: {d.note} | {split} | {d.licence} | {origin} | {d.citation} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    return markdown.replace("<!-- catalogue -->", catalogue())
