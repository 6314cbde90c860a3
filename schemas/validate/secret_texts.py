"""Texts that look like secrets. Pure. Names what a text looks like, and never quotes any of it.

Rule: a false alarm costs a move into a Secret; a missed one stays in Git history for good. So what looks like a secret is refused, and a
value counts as none only if it cannot be one: empty, a truth value, or a whole reference to somewhere else (`$TOKEN`, `{{ ... }}`, `/run/key`,
`@/run/key`, `%(token)s`). A value that merely begins like one may be a password.

    private keys                      by their first line
    passwords, tokens, keys           by the name before `:` or `=`, unless the name ends in _file, _path, ...; also in the lines below the name
                                      (`password: |`), after an option (`--token VALUE`), and for `sshpass -p`, the command `mysql -pVALUE`,
                                      `passwd --stdin`, `wpa-psk`
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
NAME = (
    r"(?P<name>[\w.-]{0,60}(?:(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
    r"[\w-]{0,20}|pass|pwd|psk))"
)
VALUE = r"[\"']?(?P<value>[^\s\"',}\]]+)"
# Where a shell expects a command, also behind one that runs another (`sudo -u db mysql`, `docker exec db mysql`) and behind an image.
COMMAND = (
    r"(?:^[ \t]*(?:-[ \t]+){0,3}|[;|&(){}\[`\"'!,]|=(?=/)|:[\w.-]{0,40}[ \t]|[ \t]--[ \t]|\b(?:mysql|mariadb)[\w.-]{0,20}[ \t]"
    r"|\b(?:sudo|exec|env|ssh|chroot|runuser|nice|nohup|time|timeout|watch|xargs|command|if|then|do|else|while|until)\b"
    r"(?:[ \t]+-[\w=,./-]{0,40}(?:[ \t]+[^\s-]\S{0,60})?){0,6}(?:[ \t]+[^\s;|&-][^\s;|&]{0,60})?[ \t])"
    r"[ \t]*(?:\w{1,40}=\S{0,80}[ \t]+){0,3}(?:[\w.~/-]{0,80}/)?"
)
# What -p of docker and podman takes.
PORTS = (
    r"[\"']?(?:[\d.]+:|\[[\da-f:]+\]:)?\d*(?:-\d+)?:\d+(?:-\d+)?(?:/(?:tcp|udp|sctp))?[\"']?(?![^\s\"',}\]])"
)
VALUES = (
    re.compile(rf"{NAME}[\"']?[ \t]*[:=][ \t]*{VALUE}", re.IGNORECASE),
    re.compile(  # a value below its name: of several lines, or a single word
        rf"^(?P<margin>[ \t]*)(?:- +)?[\"']?{NAME}[\"']?[ \t]*:[ \t]*(?:[|>][+\d-]{{0,2}}[ \t]*\n(?:[ \t]*\n){{0,3}}(?P=margin)[ \t]+{VALUE}"
        rf"|\n(?P=margin)[ \t]+[\"']?(?P<word>[^\s\"'#:-][^\s\"':]*)[\"']?[ \t]*$)",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(
        r"(?<![\w-])--?(?P<name>(?!-|(?:no|disabled?|without|with|ask|generate|expire|lock|delete|random|empty|show)-)[\w-]{0,40}"
        r"(?:password|passwd|passphrase|pass|pwd|psk|secret|token|(?:api|access|private)-?key))[ \t]+(?!-)"
        + VALUE,
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<name>sshpass)[ \t]+(?:-[vP]\S*[ \t]+)?-p[ \t]*{VALUE}"),
    re.compile(
        rf"{COMMAND}(?P<name>mysql\w{{0,20}}|mariadb[\w-]{{0,20}})\b[^\n|;&]{{0,200}}?[ \t]-p(?!{PORTS}){VALUE}",
        re.MULTILINE,
    ),
    re.compile(
        rf"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?{VALUE}[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?P<name>passwd)\b[^\n]{{0,80}}--stdin"
    ),
    re.compile(rf"\b(?P<name>passwd)\b[^\n<]{{0,80}}--stdin[^\n<]{{0,80}}<<<[ \t]*{VALUE}"),
    re.compile(rf"^[ \t]*(?P<name>wpa-psk)[ \t]+{VALUE}", re.MULTILINE),
)
# One of them is in each name of VALUES.
WORDS = ("pass", "secret", "token", "key", "credential", "pwd", "psk", "mysql", "mariadb")
BEARER = re.compile(r"\b(Bearer|Basic)\s+(?![$<{])[A-Za-z0-9+/._~=-]{12,}")
CHPASSWD = re.compile(
    r"\|\s*(sudo\s+)?chpasswd\b|^[ \t]*chpasswd:(?![ \t]*\{[ \t]*expire:[^,}]*\})", re.MULTILINE
)
REFERENCE = re.compile(
    r"(_|-)?(file|path|dir|name|id|ref|url|lifetime|length|auth|authentication)s?$"
    r"|(by|com|tres|first|second|single|multi)[_-]?pass$|(proxy|fastcgi|uwsgi|scgi|grpc)_pass$",
    re.IGNORECASE,
)
PLAIN = re.compile(
    r"(?i)(true|false|yes|no|on|off|null|none|~|[*!x]+|[|>][+\d-]{0,2})$|[`<{]|ENC\[|(~|\.\.?)/"
    r"|\$([({\[]|[a-z_]\w*([$:./;&|)<>%-].*)?$|[\d@*#?!]$)"  # $NAME, ${...}, $(...)
    r"|/(bin|boot|cdrom|data|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|secrets?|srv|sys|tmp|usr|vault|var)(/|$)"
    r"|@([-{]|\.{0,2}/|~/|\w+@$)"  # @FILE of curl, @NAME@ of configure
    r"|%([({]|\w+%$|[a-z]$)"  # %(name)s, %{name}, %NAME%
    r"|\((none|null|unset|empty|hidden|redacted)\)$|\(([a-z]+-[a-z]+)?$"  # (Get-Content ...
)


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
    for pattern in VALUES:
        for named in pattern.finditer(text):
            value = named["value"] or named.groupdict().get("word") or ""
            if is_value(named["name"], value):
                yield text.count("\n", 0, named.start("name")), f"a value for {named['name'][-40:]}"
                return


def is_value(name: str, value: str) -> bool:
    """Whether a value is written here, in place of a reference to it."""
    return not REFERENCE.search(name) and (not PLAIN.match(value) or HASH.match(value) is not None)
