"""The problem codes as a page of Markdown: docs/problems.md. `make docs` writes it."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.codes.code import Code

CHAPTERS = {
    "1": "Reading files",
    "2": "One document against its schema",
    "3": "Rules between objects",
    "4": "Against an earlier revision",
    "5": "Quota and secrets",
    "6": "Settings and reports",
    "7": "Editing",
    "8": "Git",
}
HEADING = """\
# Problems

Every problem that gitvirt reports has a code. `make docs` generates this page from `schemas/codes/`.
"""


def render(codes: Mapping[str, Code]) -> str:
    """The page as Markdown: a chapter for each range of codes."""
    lines = [HEADING]
    for digit, title in CHAPTERS.items():
        chapter = {code: explained for code, explained in sorted(codes.items()) if code[2] == digit}
        if chapter:
            lines.append(f"## {title}\n")
        for code, explained in chapter.items():
            lines.append(f'### <a id="{code.lower()}"></a>{code}: {explained.title}\n')
            lines.append(f"{explained.cause}\n\n*What to do:* {explained.cure}\n")
    return "\n".join(lines)
