"""`gitvirt completion`: scripts that make a shell complete verbs, options, kinds and the names of objects.

The scripts know nothing: they call `gitvirt completion words` with what was typed so far, so they stay right when
verbs change. It reads the verb's own parser, and the metavar of an argument says what completes it. Names of
objects come from the fleet, with a time limit; no error is ever printed, because it would land in the line that is
being typed.

Must never happen: a completion that writes, or that looks for names longer than PATIENCE_SECONDS.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.cli import topics
from reconciler.cli.codes import CODES
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.objects import nouns
from reconciler.cli.terminal import out, printable
from reconciler.cli.verbs import VERBS
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind

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
# Read as a function of fpath it is called at once; sourced it says for which command it is.
if [ "$funcstack[1]" = "_gitvirt" ]; then _gitvirt "$@"; else compdef _gitvirt gitvirt; fi
"""
FISH = """complete -c gitvirt -f -a '(gitvirt completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c gitvirt -F -n 'test (count (gitvirt completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)) -eq 0'
"""
PATIENCE_SECONDS = 5.0
WORDS = "words"  # in place of a shell: what the last word on the line may become
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", type=shell, metavar="bash|zsh|fish", help="the shell it is for")
    # The words of the command line, for the scripts.
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def shell(text: str) -> str:
    if text not in SCRIPTS and text != WORDS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(SCRIPTS)}")
    return text


def run(arguments: argparse.Namespace) -> int:
    if arguments.shell == WORDS:
        for word in candidates(arguments.words, list_names_in_time):
            out().line(word)
    elif arguments.words:
        cause = f"unrecognized arguments: {printable(' '.join(arguments.words))}"
        raise CommandError(cause, "`gitvirt completion --help` lists its arguments", Exit.USAGE)
    else:
        out().line(SCRIPTS[arguments.shell].rstrip("\n"))
    return Exit.OK


Look = Callable[[str | None], Iterable[Key]]  # what there is in the fleet that is named, or around


def candidates(words: Sequence[str], look: Look | None = None) -> list[str]:
    """What the last word, which is being typed, may become."""
    *before, last = words or [""]
    if not before:
        return filter_prefix(last, [*VERBS, "help"])
    if before[0] == "help":
        return filter_prefix(last, [*VERBS, *topics.names(), *CODES] if len(before) == 1 else ())
    if before[0] not in VERBS:
        return []
    parser = argparse.ArgumentParser(add_help=True)
    VERBS[before[0]].load().add_arguments(parser)
    return filter_prefix(last, of(parser, before[1:], last, look or list_names))


def filter_prefix(last: str, known: Iterable[str]) -> list[str]:
    return sorted({word for word in known if word.startswith(last)})


def of(parser: argparse.ArgumentParser, before: Sequence[str], last: str, look: Look) -> Iterable[str]:
    """Options where a dash was typed; the value of an option, an action, a kind or a name elsewhere."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = next((word for word in before if word in action.choices), None)
            if chosen is not None:
                return of(action.choices[chosen], before[before.index(chosen) + 1 :], last, look)
    line = Line.read(parser, before, last, look)
    if line.open is not None:
        return line.values(line.open)
    if last.startswith("-"):
        return [name for name, option in line.options.items() if option.help is not argparse.SUPPRESS]
    return () if line.next is None else line.values(line.next)


@dataclass(frozen=True, slots=True)
class Line:
    """What was typed so far, as a parser sees it. `open` is the option that waits for its value."""

    options: Mapping[str, argparse.Action]
    given: tuple[str, ...]  # words that are neither options nor their values
    chosen: Mapping[str, str]  # values of options, by where they go
    open: argparse.Action | None
    next: argparse.Action | None  # where the next plain word goes
    last: str
    look: Look

    @classmethod
    def read(cls, parser: argparse.ArgumentParser, words: Sequence[str], last: str, look: Look) -> Line:
        """Goes through the words from left to right as argparse would, but forgives what is incomplete or wrong:
        the line is not finished."""
        options = {name: action for action in parser._actions for name in action.option_strings}
        given, chosen = [], {}
        open: argparse.Action | None = None
        for word in words:
            if open is not None:
                chosen[open.dest], open = word, None
            elif (option := options.get(word)) is not None:
                chosen[option.dest] = ""
                open = option if option.nargs != 0 else None
            elif not word.startswith("-"):
                given.append(word)
        places = [action for action in parser._actions if not action.option_strings]
        rest = places[-1] if places and places[-1].nargs in ("*", "+") else None
        following = places[len(given)] if len(given) < len(places) else rest
        return cls(options, tuple(given), chosen, open, following, last, look)

    def values(self, action: argparse.Action) -> Iterable[str]:
        """What an argument can be, by its metavar. An argument with another metavar is completed by the shell, with
        file names."""
        if action.choices is not None:
            return map(str, action.choices)
        if isinstance(action, nouns.ObjectWords):
            return self.objects(action.taken)
        match action.metavar or action.dest:
            case "MACHINE":
                return self.names(Kind.MACHINE)
            case "POOL":
                return self.names(Kind.MACHINE_POOL)
            case "NS":
                return self.namespaces()
            case "NS,...":
                return complete_list(self.last, self.namespaces())
            case "RIGHT,...":
                from schemas.settings.link import RIGHTS  # with the library of settings: not for another word

                return complete_list(self.last, RIGHTS)
            case _:
                return ()

    def namespaces(self) -> set[str]:
        return {key.namespace for key in self.look(self.chosen.get("repo")) if key.namespace}

    def objects(self, taken: nouns.TakenKinds) -> Iterator[str]:
        """Kinds and names for the first word, names alone after a kind, and after `KIND/` names with that kind."""
        before, slash, _ = self.last.partition("/")
        if slash and (kind := nouns.ALIASES.get(before.lower())) in taken.kinds:
            yield from (f"{before}/{name}" for name in self.names(kind))
            return
        kind = nouns.ALIASES.get(self.given[0].lower()) if self.given else None
        if not self.given and len(taken.kinds) > 1 and taken.kinds[0] is not Kind.MACHINE_POOL:
            yield from map(nouns.plural, taken.kinds)
        default = Kind.VOLUME_POOL if "volume_pool" in self.chosen else taken.default
        if meant := kind or default:
            yield from (name for name in self.names(meant) if name not in self.given)

    def names(self, kind: Kind) -> Iterator[str]:
        """Those of the namespace that is meant as they are, others with theirs."""
        namespace = self.chosen.get("namespace") or DEFAULT_NAMESPACE
        for key in self.look(self.chosen.get("repo")):
            if key.kind is kind:
                is_near = key.namespace in ("", namespace)
                yield key.name if is_near else f"{key.namespace}/{key.name}"


def complete_list(last: str, known: Iterable[str]) -> Iterator[str]:
    """The last entry of a list with commas, each entry once."""
    before, comma, _ = last.rpartition(",")
    given = before.split(",")
    yield from (f"{before}{comma}{word}" for word in known if word not in given)


def list_names(repo: str | None) -> Iterable[Key]:
    """Objects of the fleet around; nothing where it does not answer: an error would disturb whoever types."""
    from reconciler.cli.fleet_repo import named_fleet  # with Git's library: not for a word that needs none
    from reconciler.query.inventory import read_inventory

    try:
        with named_fleet(repo) as fleet:
            snapshot = fleet.snapshot
            return list(read_inventory(fleet.repo, snapshot.target or snapshot.source).items)
    except CommandError:
        return ()


def list_names_in_time(repo: str | None) -> Iterable[Key]:
    """Whoever types does not wait for a remote that hangs."""
    found: list[Key] = []
    looker = threading.Thread(target=lambda: found.extend(list_names(repo)), daemon=True)
    looker.start()
    looker.join(PATIENCE_SECONDS)
    return tuple(found)
