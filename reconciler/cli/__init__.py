"""The command `gitvirt`: one module per verb, imported only when that verb is called.

A verb's module has `add_arguments(parser)` and `run(arguments) -> int`, and may have EXAMPLES, which its help
shows, and `hide_values(error, words)`, which takes secret words out of the error of a wrong call. `dispatch`
finds it in the table of `verbs`, builds its parser and calls it. The package is the composition root: it alone may
import every other package, and only the verbs in `iri.cli` and `poollet.cli` import it. A decision that the reconciler
or a second verb needs belongs into a room below.

| a verb ends with | exit code | printed on standard error |
|---|---|---|
| a value of `run` | that value, see `exits` | nothing more |
| CommandError | its own | one line of cause, one of cure |
| RepoError (Git, address, credentials) | 1 | its cause and cure |
| a closed pipe, as by `head` | 141 | nothing |
| Ctrl-C | 130 | nothing |

Standard output has the answer alone, so that a script can read it; notes and errors go to standard error. An error
never shows a traceback, and never a secret: addresses come without their passwords from `gitstore.remote.address`,
and tokens are never put into a message.

Limits: importing this package loads no verb, no gRPC, no libvirt and no Git library, because `gitvirt --help` and
completion have to answer at once. Modules that only some calls need are imported inside of functions for the same
reason.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NoReturn

from reconciler.cli import streams
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.interrupt import end_at_once
from reconciler.cli.verbs import HELP_SUMMARY, JOBS, VERBS, closest
from reconciler.gitstore.errors import RepoError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' \(choose from (?P<known>.*)\)")
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (?P<given>--?[\w-]+)")
# Formats of kubectl that need a language of their own.
_OTHER_FORMAT = re.compile(r"invalid choice: '(jsonpath|custom-columns|go-template)")
GLOBAL_OPTIONS = ("--repo",)

EPILOGUE = "gitvirt VERB --help shows a verb's options and examples; gitvirt help TOPIC shows a page: concepts, tutorial, GV301, ..."


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of one call. Without `argv` it is the whole process, and Ctrl-C ends it at once while modules
    load.

    Every error that a person can act on ends here as two lines. Any other exception is a bug and shows its
    traceback.
    """
    is_process = argv is None
    argv = sys.argv[1:] if argv is None else argv
    streams.prepare_streams()
    try:
        with ExitStack() as beginning:
            if is_process:
                beginning.enter_context(end_at_once())
            code = dispatch(argv, beginning.close)
        streams.flush()
        return code
    except CommandError as error:
        report(error)
        return error.exit_code
    except RepoError as error:
        report(CommandError(error.cause, error.cure))
        return Exit.FAILED
    except BrokenPipeError:
        # Who read what we print has gone, as `head` does. By a signal of the kernel's any pipe, also one to git, would end us.
        streams.redirect_to_null(sys.stdout)
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def dispatch(argv: Sequence[str], begins: Callable[[], object] = lambda: None) -> int:
    """Finds the verb, parses its arguments and runs it. `begins` is called when all that is needed is loaded and
    the arguments are right, just before the verb's own work: from there on the verb decides what Ctrl-C does."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        return show_help(argv[1:]) if len(argv) > 1 else overview(with_topics=list(argv) == ["help"])
    argv = move_options(argv)
    if argv[0] in ("-v", "-V", "--version"):
        return dispatch(["version"])
    verb = VERBS.get(argv[0])
    if verb is None:
        raise CommandError(f"gitvirt has no verb {argv[0]!r}", suggestion(argv[0]), Exit.USAGE)
    module = verb.load()
    parser = Parser(
        prog=f"gitvirt {argv[0]}",
        description=verb.sentence,
        epilog=getattr(module, "EXAMPLES", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(verb=argv[0])  # a module may serve two verbs
    module.add_arguments(parser)
    try:
        arguments = parser.read(argv[1:])
    except CommandError as error:
        hide = getattr(module, "hide_values", None)
        raise hide(error, argv[1:]) if hide else error from None
    begins()
    code: int = module.run(arguments)
    return code


def move_options(argv: Sequence[str]) -> list[str]:
    """Options that nearly every verb has may come before the verb; they are moved behind its words."""
    words = list(argv)
    moved: list[str] = []
    while words and words[0].partition("=")[0] in GLOBAL_OPTIONS:
        length = 1 if "=" in words[0] else 2
        moved, words = [*moved, *words[:length]], words[length:]
    if not words:
        raise CommandError("a verb is missing", "`gitvirt --help` lists the verbs", Exit.USAGE)
    return [words[0], *moved, *words[1:]]


def show_help(words: Sequence[str]) -> int:
    """A verb's own help, or a topic: a page of the documentation, or a problem code."""
    if words[0] in VERBS:
        return dispatch([*words, "--help"])
    from reconciler.cli import topics

    return topics.show(words[0])


class Parser(argparse.ArgumentParser):
    """argparse, with our exit code and our voice on a wrong call."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """As all output: argparse would say nothing when it cannot be written."""
        from reconciler.cli.terminal import out

        if file is not None:
            super().print_help(file)
            return
        out().line(self.format_help().rstrip("\n"))
        streams.flush()

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments of a call. Names of objects, and a range, may come before, between and after options."""
        from reconciler.cli.objects.nouns import ObjectWords

        is_mixed = any(isinstance(each, ObjectWords) or each.dest == "range" for each in self._actions)
        return self.parse_intermixed_args(words) if is_mixed else self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        """Turns what argparse found wrong into a CommandError. An argument's type may append a hint to its message
        after `; `, and a wrong choice gets the one that it comes near."""
        cure = f"`{self.prog} --help` lists its arguments"
        if unknown := _UNKNOWN_OPTION.search(message):
            options = [name for action in self._actions for name in action.option_strings]
            near = closest(unknown["given"], options)
            cure = f"did you mean {near}? {cure}" if near else cure
        elif _OTHER_FORMAT.search(message):
            cure = "use -o json with jq: gitvirt get machines -o json | jq -r '.[].metadata.name'; `gitvirt help json` has more"
        elif choice := _CHOICE.search(message):
            near = closest(choice["given"], re.findall(r"[\w-]+", choice["known"]))
            cure = f"did you mean {near!r}? {cure}" if near else cure
        message, _, hint = message.partition("; ")
        end = "" if hint.endswith("?") else ";"
        raise CommandError(message, f"{hint}{end} {cure}" if hint else cure, Exit.USAGE)


def overview(*, with_topics: bool) -> int:
    """Prints one line for each verb. It reads their summaries from the table and imports none of them."""
    from reconciler.cli.terminal import TextStyle, out

    terminal = out()
    terminal.line("gitvirt: IaaS whose API is a Git repository")
    terminal.line()
    width = max(map(len, VERBS)) + 2
    for job, names in group_verbs().items():
        terminal.line(terminal.paint(f"{job}:", TextStyle.BOLD))
        for name in names:
            summary = VERBS[name].summary if name in VERBS else HELP_SUMMARY
            terminal.line(f"  {terminal.paint(name, TextStyle.BOLD)}{' ' * (width - len(name))}{summary}")
        terminal.line()
    if with_topics:
        from reconciler.cli import topics

        words = textwrap.wrap(", ".join(sorted(topics.names())), 100, break_on_hyphens=False)
        terminal.line(terminal.paint("topics:", TextStyle.BOLD))
        for line in words:
            terminal.line(f"  {line}")
        terminal.line()
    terminal.line(EPILOGUE)
    return Exit.OK


def group_verbs() -> dict[str, tuple[str, ...]]:
    """All verbs by what people want to do; those of no job come last."""
    grouped = {name for names in JOBS.values() for name in names}
    return {**JOBS, "more": tuple(name for name in VERBS if name not in grouped)}


def suggestion(name: str) -> str:
    """The cure for a verb that does not exist: the one that its name comes near, or where all are listed."""
    near = closest(name, VERBS)
    return f"did you mean `gitvirt {near}`?" if near else "`gitvirt --help` lists the verbs"


def report(error: CommandError) -> None:
    """Prints an error on standard error. The text is printed as it is: who makes a CommandError has put words of
    others through `printable`."""
    from reconciler.cli.terminal import TextStyle, err

    terminal = err()
    with suppress(CommandError):  # where not even this can be written, the exit code remains
        terminal.line(f"{terminal.paint('error:', TextStyle.RED, TextStyle.BOLD)} {error.cause}")
        if error.cure:
            terminal.line(f"  {error.cure}")


__all__ = ["main"]
