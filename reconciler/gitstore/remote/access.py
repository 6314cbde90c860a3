"""Credentials for a remote, and what proves the remote's own identity. Read from the environment or the host's settings.

Owns credentials until they are handed to git. They never appear in a URL, an argument, an error or a log.

The environment overrides the settings of a host, which a person may have written once for all of its programs. A token in a file is read for each
call and never kept, so that a new one takes effect without a restart.

Limits: nothing here talks to a remote or knows an address; `git_command` decides which credential may go to which origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.redaction import SecretValue

# Forges take any user name beside a token; this one is the least surprising in their logs.
TOKEN_USER = "x-access-token"


class AccessError(RepoError):
    code = "GV821"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAccess:
    """`token` is a token or a password; with `token_file` it is read for every call, so that it can be rotated.

    Without `known_hosts` the person's own known_hosts decide; an unknown host key is never accepted.
    `uses_own_config` lets the person's Git configuration speak too: credential helpers, insteadOf, safe.directory.
    """

    username: str = ""
    token: SecretValue | None = None
    token_file: Path | None = None
    is_bearer: bool = False
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    proxy: SecretValue | None = None
    identity: Path | None = None
    known_hosts: Path | None = None
    ssh_config: Path | None = None
    uses_own_config: bool = False

    def secret(self) -> SecretValue | None:
        """The token or password as it is now."""
        if self.token_file is None:
            return self.token
        try:
            value = self.token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            words = error.strerror if isinstance(error, OSError) else "not a text file"
            raise AccessError(
                f"cannot read the token in {self.token_file}: {words}", "see docs/git.md"
            ) from None
        return _check_token(value, str(self.token_file))

    def secrets(self) -> tuple[tuple[str, SecretValue], ...]:
        """Everything that must never be shown, with the user it belongs to."""
        found = []
        if secret := self.secret():
            found.append((self.username or TOKEN_USER, secret))
        if self.proxy and (parts := urlsplit(self.proxy.reveal())).password:
            found.append((unquote(parts.username or ""), SecretValue(unquote(parts.password))))
            found.append((parts.username or "", SecretValue(parts.password)))
        return tuple(found)


def from_environment(environment: Mapping[str, str], settings: RemoteAccess | None = None) -> RemoteAccess:
    """The settings, and over them what the GITVIRT_* variables say."""
    access = settings or RemoteAccess()

    def path(name: str, otherwise: Path | None) -> Path | None:
        return Path(environment[name]) if environment.get(name) else otherwise

    token, token_file = access.token, path("GITVIRT_TOKEN_FILE", access.token_file)
    if environment.get("GITVIRT_TOKEN"):
        token, token_file = _check_token(environment["GITVIRT_TOKEN"].strip(), "GITVIRT_TOKEN"), None
    proxy = environment.get("GITVIRT_PROXY")
    return replace(
        access,
        username=environment.get("GITVIRT_USERNAME") or access.username,
        token=token,
        token_file=token_file,
        is_bearer=_choice(environment, "GITVIRT_TOKEN_TYPE", ("basic", "bearer"), access.is_bearer),
        ca_file=path("GITVIRT_CA_FILE", access.ca_file),
        certificate_file=path("GITVIRT_CERTIFICATE_FILE", access.certificate_file),
        key_file=path("GITVIRT_KEY_FILE", access.key_file),
        proxy=SecretValue(proxy) if proxy else access.proxy,
        identity=path("GITVIRT_IDENTITY", access.identity),
        known_hosts=path("GITVIRT_KNOWN_HOSTS", access.known_hosts),
        ssh_config=path("GITVIRT_SSH_CONFIG", access.ssh_config),
        uses_own_config=_choice(environment, "GITVIRT_GIT_CONFIG", ("none", "own"), access.uses_own_config),
    )


def _choice(environment: Mapping[str, str], name: str, words: tuple[str, str], otherwise: bool) -> bool:
    value = environment.get(name)
    if not value:
        return otherwise
    if value not in words:
        raise AccessError(f"{name} is {value!r}", f"set it to {words[0]} or {words[1]}")
    return value == words[1]


def _check_token(value: str, place: str) -> SecretValue:
    """A line break would let a token speak git's credential protocol, and an HTTP header end early."""
    if not value:
        raise AccessError(f"the token in {place} is empty", "put the token there, or unset it")
    if not value.isprintable():
        raise AccessError(f"the token in {place} contains control characters", "it must be one line")
    return SecretValue(value)
