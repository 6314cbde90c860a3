"""`gitvirt help TOPIC`: the pages of the documentation and the problem codes, in the terminal.

Reads the pages from the package (a wheel) or from docs/ (a checkout), so they fit the installed version and need no
network. Writes nothing. A topic is the name of a page without its suffix, or a code such as GV301; a verb of the
same name wins, and `NAME.md` means the page. Exit code 2 for a topic that does not exist, with the one that it
comes near.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable

from reconciler.cli import paging
from reconciler.cli.codes import CODES, docs_folder
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.cli.verbs import VERBS, closest

_HEADING = re.compile(r"#+ (.*)")
_LINK = re.compile(r"\[([^\]]+)\]\((?!http)([^)#]+)\.md[^)]*\)")


def show(topic: str) -> int:
    """Prints a code or a page. Raises CommandError for a topic that does not exist."""
    if topic.upper() in CODES:
        show_code(out(), topic.upper())
        return Exit.OK
    found = pages()
    # With the suffix it is the page, though there is a verb of that name.
    page = found.get(topic.lower().removesuffix(".md"))
    if page is None:
        near = closest(topic.lower(), [*VERBS, *found])
        cure = (
            f"did you mean `gitvirt help {near}`?"
            if near
            else f"topics: {', '.join(sorted(found))}; and codes such as GV301"
        )
        raise CommandError(f"unknown verb or topic: {printable(topic)!r}", cure, Exit.USAGE)
    paging.show(out(), format_page(out(), page.read_text("utf-8")))
    return Exit.OK


def pages() -> dict[str, Traversable]:
    """The pages of the documentation that come with the package, by topic: the file's name, in lower case."""
    return {
        place.name.removesuffix(".md").lower(): place
        for place in docs_folder().iterdir()
        if place.name.endswith(".md")
    }


def names() -> Iterable[str]:
    return pages()


def format_page(terminal: Terminal, text: str) -> Iterator[str]:
    """As it is written, with highlighted headings; a link to another page is the command that shows it."""
    is_code = False
    for line in text.rstrip("\n").split("\n"):
        is_code ^= line.startswith("```")
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading:
            yield terminal.paint(heading[1], TextStyle.BOLD)
        else:
            yield line if is_code else _LINK.sub(command, line)


def command(link: re.Match[str]) -> str:
    """A link to another page, as the command that shows it: a terminal cannot follow the link itself. Always with the suffix, because a
    verb may have the name of the page, and all links of a page read alike."""
    return f"{link[1]} (gitvirt help {link[2]}.md)"


def show_code(terminal: Terminal, name: str) -> None:
    code = CODES[name]
    terminal.line(terminal.paint(f"{name}: {code.title}", TextStyle.BOLD))
    terminal.line()
    terminal.line(code.cause)
    terminal.line(f"What to do: {code.cure}")
