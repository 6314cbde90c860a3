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


def share(path: Path) -> Share:
    """Lines that are not blank, and how many of them are docstrings or contain a comment."""
    source = path.read_text()
    explaining: set[int] = set()
    for node in ast.walk(syntax(path)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            explaining |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            explaining.add(token.start[0])
    lines = source.splitlines()
    return Share(
        sum(1 for line in lines if line.strip()), sum(1 for number in explaining if lines[number - 1].strip())
    )
