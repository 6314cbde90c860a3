"""Every command of gitvirt that the documentation names exists, with its actions and options."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Iterator

import pytest

from reconciler.cli.codes import docs_folder
from reconciler.cli.verbs import VERBS
from tests.docs.pages import INLINE, PAGES, Page

# `gitvirt help TOPIC`, and two words that are not verbs.
OTHERS = {"help", "VERB", "--help", "--version", "-V"}
ENDS = re.compile(r"\s(?:\\?\||\|\||&&|;|#|>|>>|2>|&|\)|   ).*$|\\$")


def commands(page: Page) -> Iterator[str]:
    for language, text in page.blocks:
        if language in ("yaml", "json", "text"):
            continue
        lines = text.replace("\\\n", " ").splitlines()
        # Where some lines are typed, as the prompt says, the others were printed.
        typed = [line for line in lines if line.startswith("$ ")] or lines
        for line in typed:
            if found := re.match(r"(?:\$ |sudo |\w+=\S* )*(gitvirt .*)", line.strip()):
                yield found[1]
    for code in INLINE.findall(page.prose):
        if code.startswith("gitvirt ") and "@" not in code:
            yield code


@functools.cache
def parser_of(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    VERBS[verb].load().add_arguments(parser)
    return parser


def unknown(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """The options among the words that this parser, or that of an action among them, does not have."""
    options = {name for action in parser._actions for name in action.option_strings}
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for position, word in enumerate(words):
        for action in actions:
            if word in action.choices:
                return unknown_options(words[:position], options) + unknown(
                    action.choices[word], words[position + 1 :]
                )
    return unknown_options(words, options)


def unknown_options(words: list[str], options: set[str]) -> list[str]:
    before_dashes = words[: words.index("--")] if "--" in words else words
    named = [word.partition("=")[0] for word in before_dashes if re.match(r"--?[a-z]", word)]
    return [name for name in named if name not in options and name[:2] not in options]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_exists(page: Page) -> None:
    for command in commands(page):
        words = shlex.split(ENDS.sub("", command).replace("[", "").replace("]", ""), comments=True)[1:]
        if not words or words[0] in OTHERS:
            continue
        assert words[0] in VERBS, command
        assert unknown(parser_of(words[0]), words[1:]) == [], command


def test_every_verb_is_documented() -> None:
    text = "\n".join(
        page.text for page in PAGES if page.path.parent.name == "docs" or page.name == "README.md"
    )
    for verb in VERBS:
        assert re.search(rf"\bgitvirt {verb}\b|`{verb}\b", text), verb


def test_every_topic_named_is_shown() -> None:
    topics = {path.name.removesuffix(".md") for path in docs_folder().iterdir()}
    for page in PAGES:
        for name in re.findall(r"gitvirt help ([a-z]\S*?)[`\s]", page.text):
            assert name in topics or name in VERBS, f"{page.name}: {name}"
