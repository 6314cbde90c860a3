"""`gitvirt completion`: the script that makes a shell complete verbs, options and kinds."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Iterator, Sequence

from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out
from reconciler.cli.verbs import VERBS

EXAMPLES = """examples:
  gitvirt completion bash > /etc/bash_completion.d/gitvirt
  gitvirt completion zsh > "${fpath[1]}/_gitvirt"
  gitvirt completion fish > ~/.config/fish/completions/gitvirt.fish"""

BASH = """_gitvirt() {
    local IFS=$'\\n'
    COMPREPLY=($(gitvirt completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _gitvirt gitvirt
"""
ZSH = """#compdef gitvirt
_gitvirt() {
    local -a found
    found=(${(f)"$(gitvirt completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#found} )); then compadd -- $found; else _files; fi
}
compdef _gitvirt gitvirt
"""
FISH = """complete -c gitvirt -f -a '(gitvirt completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c gitvirt -F -n 'test (count (gitvirt completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)) -eq 0'
"""
WORDS = "words"  # in place of a shell: what the last word on the line may become
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", type=shell, metavar="bash|zsh|fish", help="the shell it is for")
    # What stands on the line, for the scripts.
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def shell(text: str) -> str:
    if text not in SCRIPTS and text != WORDS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(SCRIPTS)}")
    return text


def run(arguments: argparse.Namespace) -> int:
    if arguments.shell == WORDS:
        for word in candidates(arguments.words):
            out().line(word)
    else:
        out().line(SCRIPTS[arguments.shell].rstrip("\n"))
    return Exit.OK


def candidates(words: Sequence[str]) -> list[str]:
    """What the last word, which is being typed, may become."""
    *before, last = words or [""]
    if not before:
        return beginning(last, [*VERBS, "help"])
    if before[0] == "help":
        return beginning(last, VERBS)
    if before[0] not in VERBS:
        return []
    parser = argparse.ArgumentParser(add_help=True)
    importlib.import_module(f"reconciler.cli.{VERBS[before[0]].module}").add_arguments(parser)
    return beginning(last, of(parser, before[1:], last))


def beginning(last: str, known: Iterable[str]) -> list[str]:
    return sorted({word for word in known if word.startswith(last)})


def of(parser: argparse.ArgumentParser, before: Sequence[str], last: str) -> Iterator[str]:
    """Options where a dash was typed; the choices of an option, an action or a kind elsewhere."""
    options = {name: action for action in parser._actions for name in action.option_strings}
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in subparsers:
        chosen = next((word for word in before if word in action.choices), None)
        if chosen is not None:
            yield from of(action.choices[chosen], before[before.index(chosen) + 1 :], last)
            return
    if before and (option := options.get(before[-1])) is not None and option.nargs != 0:
        yield from map(str, option.choices or ())
        return
    if last.startswith("-"):
        yield from (name for name in options if options[name].help is not argparse.SUPPRESS)
        return
    positional = next((action for action in parser._actions if not action.option_strings), None)
    if positional is None or any(not word.startswith("-") for word in before):
        return
    if positional.choices is not None:
        yield from map(str, positional.choices)
    elif positional.metavar in ("KIND", "[KIND] NAME"):
        from reconciler.cli.objects.nouns import plural
        from schemas.kinds import Kind

        yield from map(plural, Kind)
