"""Every problem code with its title, cause and cure, read from docs/problems.md: the page is the only place with these texts.

A section of the page has this form, and a test finds no section of another one:

    ### <a id="gv301"></a>GV301: Duplicate object

    What is wrong in general. The message of a problem says it for the one case, with names and values.

    *What to do:* An instruction. The usual cure comes first, and one that gives something up says what.

`gitvirt help`, SARIF and completion show these texts. The code that finds a problem knows only its number.

Must never happen: a code that gets another meaning. Users have it in filters and documents. An unused code is not reused.
"""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

_SECTION = re.compile(
    r'^### <a id="gv\d{3}"></a>(GV\d{3}): (.+)\n\n(.+)\n\n\*What to do:\* (.+)$', re.MULTILINE
)


class Code(NamedTuple):
    """Each text is a sentence or a few for users, in Markdown and without the details of one case."""

    title: str
    cause: str
    cure: str


def docs_folder() -> Traversable:
    """The pages of the documentation: inside of the packages in a wheel, beside them in a checkout."""
    packaged = files("reconciler") / "template" / "docs"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "docs"


def read_codes(page: str) -> dict[str, Code]:
    """The codes that a page explains, in its order."""
    return {code: Code(*texts) for code, *texts in _SECTION.findall(page)}


CODES = read_codes((docs_folder() / "problems.md").read_text("utf-8"))
