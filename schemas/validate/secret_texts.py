"""Texts that look like secrets. Pure. Names what a text looks like, and never quotes any of it.

Rule: a false alarm costs a move into a Secret; a missed one stays in Git history for good. So what looks like a secret is refused, and a
value counts as none only if it cannot be one: empty, a truth value, or a reference to somewhere else (`$TOKEN`, `{{ ... }}`, `/run/key`).

    private keys                      by their first line
    passwords, tokens, keys           by the name before `:` or `=`, unless the name ends in _file, _path, ...
    tokens of well-known services     by their prefix
    passwords in URLs                 user:password@host
    hashes of passwords               by their form ($6$...): anyone can try passwords against one
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY( BLOCK)?-----|PuTTY-User-Key-File-|AGE-SECRET-KEY-1"
)
HASH = re.compile(r"\$(1|2[abxy]?|5|6|7|y|gy|argon2\w{1,2}|scrypt)\$[^\s\"']{8,}")
URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,80}:(?![$<{%])[^\s/@\"']{1,200}@", re.IGNORECASE)
TOKENS = re.compile(
    r"\b(gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20}|glpat-[A-Za-z0-9_-]{16}|(AKIA|ASIA)[A-Z0-9]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10}|hv[sb]\.[A-Za-z0-9_-]{20}|sk-[A-Za-z0-9_-]{20}|AIza[A-Za-z0-9_-]{30}|dckr_pat_[A-Za-z0-9_-]{20}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10}|K10[0-9a-f]{40}|[a-z0-9]{6}\.[a-z0-9]{16}\b)"
)
NAMED = re.compile(
    r"(?P<name>[\w.-]{0,60}(password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
    r"(?P<rest>[\w-]{0,20}))[\"']?[ \t]*[:=][ \t]*[\"']?(?P<value>[^\s\"',}\]]+)",
    re.IGNORECASE,
)
WORDS = ("pass", "secret", "token", "key", "credential")  # one of them is in each name of NAMED
BEARER = re.compile(r"\b(Bearer|Basic)\s+(?![$<{])[A-Za-z0-9+/._~=-]{12,}")
CHPASSWD = re.compile(
    r"\|\s*(sudo\s+)?chpasswd\b|^[ \t]*chpasswd:(?![ \t]*\{[ \t]*expire:[^,}]*\})", re.MULTILINE
)
REFERENCE = re.compile(
    r"(_|-)?(file|path|dir|name|id|ref|url|lifetime|length|auth|authentication)s?$", re.IGNORECASE
)
PLAIN = re.compile(r"(?i)(true|false|yes|no|on|off|null|none|~|[*!x]+|[|>][+-]?)$|[$`<({%@/]|ENC\[")


def find_secrets(text: str) -> Iterator[tuple[int, str]]:
    """Line (from 0) and what is there, the first of each kind, in the order of the table."""
    for pattern, what in (
        (PRIVATE_KEY, "a private key"),
        (HASH, "the hash of a password"),
        (CHPASSWD, "a password"),
        (URL, "a password in a URL"),
        (TOKENS, "a token"),
        (BEARER, "a token"),
    ):
        if found := pattern.search(text):
            yield text.count("\n", 0, found.start()), what
    lowered = text.lower()
    if not any(word in lowered for word in WORDS):
        return  # nearly all texts; the expression is slow
    for named in NAMED.finditer(text):
        if is_value(named["name"], named["value"]):
            yield text.count("\n", 0, named.start()), f"a value for {named['name'][-40:]}"
            return


def is_value(name: str, value: str) -> bool:
    """Whether a value is written here, in place of a reference to it."""
    return not REFERENCE.search(name) and (not PLAIN.match(value) or HASH.match(value) is not None)
