"""Makes foreign text fit to be shown: no credential, no control character, no flood.

The only border: whatever git or a server wrote passes through a Redactor before it goes anywhere else. It ends up in logs, in conditions on the target
branch and in answers of /healthz, and from a branch a secret cannot be taken back.

Two nets: the secrets that are known, in each spelling that a program may print (as they are, percent-encoded, in base64, with the user name); and
patterns for those that are not known, such as a password in a URL of the server's own message. Unprintable characters are replaced,
because an escape sequence in a server's message could rewrite a person's terminal.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

STARS = "***"
MOST_CHARACTERS = 2000
ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
PASSWORD_IN_URL = re.compile(r"(?<=://)[^@/\s:]*:[^@/\s]*@")
USER_IN_WEB_URL = re.compile(r"(?:(?<=http://)|(?<=https://))[^@/\s]+@")
AUTHORIZATION = re.compile(r"(?i)((?:proxy-)?authorization:\s*)(?:\w+\s+)?\S+")


@dataclass(frozen=True, slots=True)
class SecretValue:
    """A value that prints as stars, so that no repr and no log can hold it by accident."""

    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The value itself. Call it only where it is handed to git, to a header or to a Redactor."""
        return self._value

    def __str__(self) -> str:
        return STARS


@dataclass(frozen=True, slots=True)
class Redactor:
    """Knows the secrets of one remote, in every spelling that a program or a server could echo."""

    _spellings: tuple[str, ...] = field(repr=False, default=())

    def clean(self, words: str) -> str:
        """One or more printable lines."""
        words = ESCAPE_SEQUENCE.sub("", words)
        for spelling in self._spellings:
            words = words.replace(spelling, STARS)
        words = AUTHORIZATION.sub(rf"\1{STARS}", words)
        words = PASSWORD_IN_URL.sub(STARS + "@", words)
        words = USER_IN_WEB_URL.sub(STARS + "@", words)
        lines = (_printable(line).rstrip() for line in re.split(r"[\r\n]+", words))
        text = "\n".join(line for line in lines if line)
        return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " ..."


def build_redactor(secrets: Iterable[tuple[str, SecretValue]]) -> Redactor:
    """From pairs of user name (or nothing) and secret."""
    spellings: set[str] = set()
    for username, secret in secrets:
        value = secret.reveal()
        if not value:
            continue
        pair = f"{username}:{value}".encode()
        spellings |= {value, quote(value), quote(value, safe=""), base64.b64encode(pair).decode()}
        spellings.add(base64.b64encode(value.encode()).decode())
    # The longest first: a secret may be part of another one's spelling.
    return Redactor(tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling))))


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in line)
