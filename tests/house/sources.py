"""What the tests of the house read: source files, their names, and their texts."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Name(NamedTuple):
    """A name that a file defines. `owner` says of what: module, class, function, variable."""

    place: str
    owner: str
    text: str


class Text(NamedTuple):
    """A docstring, a comment or another string constant."""

    place: str
    text: str


@cache
def modules(folder: str) -> tuple[Path, ...]:
    """The Python files below a folder, or the one file, without generated code."""
    root = ROOT / folder
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    return tuple(path for path in files if "_pb2" not in path.name and "template" not in path.parts)


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def place_of(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def names(path: Path) -> Iterator[Name]:
    """Every name that the file defines, the file's own included."""
    yield Name(place_of(path, 1), "module", path.stem)
    for node in ast.walk(syntax(path)):
        match node:
            case ast.ClassDef(name=name):
                yield Name(place_of(path, node.lineno), "class", name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Name(place_of(path, node.lineno), "function", name)
            case ast.arg(arg=name):
                yield Name(place_of(path, node.lineno), "variable", name)
            case ast.Name(id=name, ctx=ast.Store()):
                yield Name(place_of(path, node.lineno), "variable", name)


def texts(path: Path) -> Iterator[Text]:
    """Docstrings, comments and the string constants that contain a blank: messages, not keys or formats."""
    source = path.read_text()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Text(place_of(path, node.lineno), " ".join(node.value.split()))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(place_of(path, token.start[0]), token.string)


class Share(NamedTuple):
    lines: int
    explaining: int


# Tokens that make a line neither code nor comment.
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
)


def docstring(path: Path) -> str:
    """Of the module; for `__init__.py`, of the package."""
    return ast.get_docstring(syntax(path)) or ""


def share(path: Path) -> Share:
    """All lines, and those of docstrings and comments. A comment behind code does not make its line an explaining one."""
    source = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return Share(len(source.splitlines()), len(docstrings | (comments - code)))
