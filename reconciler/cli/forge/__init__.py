"""`gitvirt forge check`: which of the known attacks the rules of a forge allow to a host's credentials.

It reads the protection rules of the fleet's repository through the API of Gitea or Forgejo, GitHub or GitLab, with an administrator's token,
and changes nothing. The answer is a table, one row for each attack, with the change that refuses it.

| exit code | when |
|---|---|
| 3 | an attack is allowed |
| 1 | none is allowed, and for one it cannot tell |
| 0 | every attack is refused |

`api` asks, `gitea`, `github` and `gitlab` understand the answers, `access` is what they have in common, and `attacks` judges it.

Limits: it reads rules and tries none of them. Must never happen: "refused" for something that was not read; the token in an argument, a
message or a log.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.forge.access import Fleet, Forge
from reconciler.cli.forge.api import Api
from reconciler.cli.forge.attacks import AttackResult, Verdict, judge
from reconciler.cli.forge.gitea import Gitea
from reconciler.cli.forge.github import GitHub
from reconciler.cli.forge.gitlab import GitLab, project_path
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, out, printable

EXAMPLES = """examples:
  gitvirt forge check https://git.example.org/ops/fleet --kind gitea --token-file ~/.forge \\
      --reconciler gitvirt --host rack-a1 --host rack-a2=robot-a2 --people ann --people team:ops
  gitvirt forge check https://github.com/ops/fleet --reconciler app:101 --host rack-a1=app:102 --people role:4
  gitvirt forge check https://gitlab.com/ops/fleet --reconciler key:reconciler --host rack-a1=key:rack-a1 --people role:40

accounts, as the forge calls them:
  Gitea, Forgejo    a user name; team:NAME; deploy keys
  GitHub            app:ID; user:NAME; team:ID; role:4 (write), role:5 (admin)
  GitLab            key:TITLE of a deploy key; a user name; role:30 (Developer), role:40 (Maintainer)

The token comes from --token-file, or from GITVIRT_FORGE_TOKEN. It needs to read protection rules: an owner's or administrator's.

exit codes: 0 all refused, 3 an attack is allowed, 1 it cannot tell"""

KINDS = ("gitea", "github", "gitlab")
STYLES = {Verdict.ALLOWED: TextStyle.RED, Verdict.UNKNOWN: TextStyle.YELLOW, Verdict.REFUSED: TextStyle.GREEN}
COLUMNS = (
    Column[AttackResult]("ATTACK", lambda each: each.what),
    Column[AttackResult]("VERDICT", lambda each: each.verdict.value, lambda each: STYLES[each.verdict]),
    Column[AttackResult]("WHY", lambda each: each.why),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="check: judge the rules of a repository")
    parser.add_argument("repository", metavar="URL", help="page of the repository: https://HOST/OWNER/NAME")
    parser.add_argument(
        "--kind", choices=KINDS, help="of forge (default: by the host's name); gitea is also Forgejo"
    )
    parser.add_argument("--api", metavar="URL", help="address of the API (default: by the kind and the host)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with the token")
    parser.add_argument("--reconciler", required=True, metavar="ACCOUNT", help="account of the reconciler")
    parser.add_argument(
        "--host",
        action="append",
        required=True,
        type=parse_host,
        metavar="POOLLET[=ACCOUNT]",
        help="a host and its account (default: the same name); once for each host",
    )
    parser.add_argument(
        "--people", action="append", default=[], metavar="ACCOUNT", help="who may merge; once for each"
    )
    parser.add_argument("--source", default="main", metavar="BRANCH", help="branches.source (default: main)")
    parser.add_argument("--target", default="live", metavar="BRANCH", help="branches.target (default: live)")
    parser.add_argument(
        "--reports",
        default="refs/heads/gitvirt/poollets/",
        metavar="REF",
        help="reports.ref of gitvirt.yaml (default: refs/heads/gitvirt/poollets/)",
    )
    parser.add_argument(
        "--audit",
        default="",
        metavar="REF",
        help="audit.ref of gitvirt.yaml: also judge who may write the record (default: there is none)",
    )
    add_format(parser)


def parse_host(text: str) -> tuple[str, str]:
    name, _, account = text.partition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} names no poollet")
    return name, account or name


def run(arguments: argparse.Namespace) -> int:
    fleet = Fleet(
        dict(arguments.host),
        arguments.reconciler,
        frozenset(arguments.people),
        arguments.source,
        arguments.target,
        arguments.reports,
        arguments.audit,
    )
    if arguments.reconciler in fleet.accounts:
        raise CommandError(
            f"{printable(arguments.reconciler)} is the reconciler and a host",
            "give each its own account: with one, no rule can tell them apart",
            Exit.USAGE,
        )
    found = judge(open_forge(arguments, fleet), fleet)
    show(found, arguments.output)
    if any(each.verdict is Verdict.ALLOWED for each in found):
        return Exit.PROBLEMS
    return Exit.FAILED if any(each.verdict is Verdict.UNKNOWN for each in found) else Exit.OK


def open_forge(arguments: argparse.Namespace, fleet: Fleet) -> Forge:
    """Reads the rules. The kind is guessed for the two public forges only: elsewhere a wrong guess would ask another API."""
    parts = urlsplit(arguments.repository)
    name = parts.path.strip("/").removesuffix(".git")
    if not parts.hostname or parts.username or "/" not in name:
        cause = f"{printable(parts.hostname or arguments.repository)}: not the page of a repository"
        raise CommandError(cause, "write https://HOST/OWNER/NAME, without a user or token", Exit.USAGE)
    kind = arguments.kind or {"github.com": "github", "gitlab.com": "gitlab"}.get(parts.hostname)
    token, site = read_token(arguments.token_file), f"{parts.scheme}://{parts.netloc}"
    match kind:
        case "gitea":
            api = Api(arguments.api or f"{site}/api/v1", ("Authorization", f"token {token}"))
            return Gitea(api, f"/repos/{name}")
        case "github":
            public = parts.hostname == "github.com"
            base = arguments.api or ("https://api.github.com" if public else f"{site}/api/v3")
            return GitHub(Api(base, ("Authorization", f"Bearer {token}")), f"/repos/{name}")
        case "gitlab":
            api = Api(arguments.api or f"{site}/api/v4", ("PRIVATE-TOKEN", token))
            return GitLab(api, project_path(name), (*fleet.accounts, fleet.reconciler))
        case _:
            cause = f"the kind of forge at {printable(parts.hostname)} is not known"
            raise CommandError(cause, "name it: --kind gitea, github or gitlab", Exit.USAGE)


def read_token(file: Path | None) -> str:
    """From the file, else from the environment. Errors name the file, never its text."""
    if file is None:
        token = os.environ.get("GITVIRT_FORGE_TOKEN", "")
    else:
        try:
            token = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise CommandError(
                f"cannot read {printable(str(file))}: {why}", "name a file with the token"
            ) from None
    token = token.strip()
    if token and token.isascii() and token.isprintable() and " " not in token:
        return token
    cause = "there is no token" if not token else "the token has characters that no token has"
    raise CommandError(
        cause, "write it into a file and name that: --token-file FILE; or set GITVIRT_FORGE_TOKEN", Exit.USAGE
    )


def show(found: Sequence[AttackResult], format: str) -> None:
    terminal = out()
    if is_value(format):
        show_value(terminal, format, [value_of(each) for each in found])
        return
    show_table(terminal, COLUMNS, found)
    open_ones = [each for each in found if each.verdict is not Verdict.REFUSED]
    for each in open_ones:
        terminal.line()
        terminal.line(terminal.paint(printable(f"{each.verdict.value}: {each.what}"), STYLES[each.verdict]))
        terminal.line(f"  to refuse it: {printable(each.cure)}")
    if not open_ones:
        terminal.line("every known attack is refused; then try it: `gitvirt help security`, Test the rights")


def value_of(each: AttackResult) -> dict[str, str]:
    return {
        "attack": each.attack,
        "what": each.what,
        "verdict": each.verdict.value,
        "why": each.why,
        "cure": each.cure,
    }
