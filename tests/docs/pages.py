"""The documentation as text: every page of the repository, and its content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<fence>`{3,})(\w*)\n(.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def prose(self) -> str:
        """Without blocks of code."""
        return FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Language and text of each block of code."""
        return [(language, text) for _, language, text in FENCE.findall(self.text)]

    @property
    def links(self) -> list[str]:
        return LINK.findall(INLINE.sub("", self.prose))

    @property
    def anchors(self) -> set[str]:
        """As forges make them of headings."""
        return {anchor(heading) for heading in HEADING.findall(self.prose)}

    def section(self, heading: str) -> str:
        return next(
            part for part in re.split(r"^#+ ", self.text, flags=re.MULTILINE) if part.startswith(heading)
        )


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


PLACES = ("*.md", "docs/**/*.md", "examples/**/*.md", "reconciler/template/*.md")
PAGES = [Page(path) for place in PLACES for path in sorted(ROOT.glob(place))]


def rows(text: str) -> list[list[str]]:
    """The cells of the table in it, its heading among them."""
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return [row for row in cells if not all(set(cell) == {"-"} for cell in row)]
