"""Puts the catalogue into the documentation at build time, so that the two cannot differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua.corpora import CATALOG
from interlingua.measures.catalog import CATALOG as CATALOG_OF_MEASURES
from interlingua.measures.catalog import TRANSFORMATIONS
from interlingua.measures.papers import PAPERS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


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


def measures() -> str:
    """The measures and what they promise, as a table."""
    lines = ["| measure | range | symmetric | unchanged by | reference |", "|---|---|---|---|---|"]
    for m in CATALOG_OF_MEASURES:
        low, high = ("any" if abs(b) == float("inf") else f"{b:g}" for b in m.bounds)
        bounds = "any" if low == "any" else f"{low} to {high}"
        kept = (
            "everything in the list"
            if len(m.invariances) == len(TRANSFORMATIONS)
            else ", ".join(t for t in TRANSFORMATIONS if t in m.invariances)
        )
        lines.append(f"| `{m.name}` | {bounds} | {'yes' if m.symmetric else 'no'} | {kept} | {m.reference} |")
    return "\n".join(lines)


def papers() -> str:
    """How papers computed their numbers, as a table."""
    lines = ["| paper | pooling | measures | matching | source |", "|---|---|---|---|---|"]
    for p in PAPERS:
        variants = ", ".join(k if k == v else f"{k} is `{v}`" for k, v in p.variants.items())
        way = "source to target" if p.forward and "matching" in p.variants else ""
        lines.append(f"| `{p.name}` | {p.pooling} | {variants} | {way} | {p.reference} |")
    return "\n".join(lines)


def claims() -> str:
    """What was found of every claim, as the page of claims has it."""
    text = (Path(__file__).parent.parent / "studies" / "CLAIMS.md").read_text(encoding="utf-8")
    return text.partition("\n")[2].replace("\n## ", "\n### ")


def drawn() -> dict[str, Path]:
    """Figures of studies, by their place among the pages."""
    found = sorted((Path(__file__).parent.parent / "studies" / "results").glob("*/figures/*.svg"))
    return {f"replications/{path.parent.parent.name}/{path.name}": path for path in found}


def figures() -> str:
    """All figures of studies that were run, a heading a study."""
    lines, study = [], ""
    for place in drawn():
        _, name, file = place.split("/")
        if name != study:
            lines += ["", f"### {name}", ""]
            study = name
        lines.append(f"![{name}: {file.removesuffix('.svg').replace('-', ' ')}]({place})")
    return "\n".join(lines)


def adding() -> str:
    """How to add things, as the page for contributors says."""
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in text.split("\n## How to add ")[1:]]
    return "\n".join(f"## {head.capitalize()}\n{body.partition(chr(10) + '## ')[0]}" for head, _, body in parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by mkdocs with all files of the documentation."""
    from mkdocs.structure.files import File

    for place, path in drawn().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    for table in (catalogue, measures, papers, claims, figures, adding):
        mark = table.__name__
        markdown = markdown.replace(f"<!-- {mark} -->", table())
    return markdown
