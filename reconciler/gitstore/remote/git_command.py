"""How git is called for one remote: its environment, its configuration, its ssh.

A daemon ignores the configuration of the person and the machine: git sees these settings and those of the mirror only, unless
the person asks for their own. Credentials travel in the environment of the one process, read by a credential helper that
answers for the remote's own origin only; a redirect to another host gets none.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.gitstore.process import BIG_FILE
from reconciler.gitstore.remote.access import TOKEN_USER, AccessError, RemoteAccess
from reconciler.gitstore.remote.address import RemoteAddress, Scheme

# What may pass from our environment to git's. Everything else is dropped: GIT_*, our own credentials, tracing.
PASSES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
)
OWN_CONFIG_PASSES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
CREDENTIAL_HELPER = (
    '!answer() { test "$1" = get || exit 0; '
    'printf "username=%s\\npassword=%s\\n" "$GITVIRT_CREDENTIAL_USER" "$GITVIRT_CREDENTIAL_SECRET"; }; answer'
)
STALL_SECONDS = 30

Setting = tuple[str, str]


def environment(address: RemoteAddress, access: RemoteAccess, ambient: Mapping[str, str]) -> dict[str, str]:
    """Raises AccessError when the credentials cannot be read, or may not go where the address points."""
    passes = PASSES + (OWN_CONFIG_PASSES if access.uses_own_config else ())
    found = {name: ambient[name] for name in passes if name in ambient}
    found |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": _protocols(address),
    }
    if not access.uses_own_config:
        found |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    _look_at_files(address, access)
    settings = [*_always(), *_web(address, access)]
    secret = access.secret() if address.scheme.is_web else None
    if secret is not None:
        if address.scheme is Scheme.HTTP and not address.is_this_machine:
            raise AccessError(f"http:// would send the token to {address.host} unencrypted", "use https://")
        settings.append(("credential.helper", ""))
        if access.is_bearer:
            settings.append(
                (f"http.{address.origin}/.extraHeader", f"Authorization: Bearer {secret.reveal()}")
            )
        else:
            settings.append((f"credential.{address.origin}.helper", CREDENTIAL_HELPER))
            found["GITVIRT_CREDENTIAL_USER"] = access.username or address.username or TOKEN_USER
            found["GITVIRT_CREDENTIAL_SECRET"] = secret.reveal()
    if address.scheme is Scheme.SSH:
        found |= {"GIT_SSH_COMMAND": shlex.join(ssh(access)), "GIT_SSH_VARIANT": "ssh"}
    return found | _number_settings(settings)


def ssh(access: RemoteAccess) -> list[str]:
    """The person's own ssh configuration holds (ports, jumps, keys), but never about whom to trust, and it never asks."""
    options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no",
        "PermitLocalCommand=no",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        # A master that stays behind would hold our pipes open.
        "ControlMaster=no",
        f"ConnectTimeout={STALL_SECONDS // 2}",
        f"ServerAliveInterval={STALL_SECONDS // 3}",
        "ServerAliveCountMax=3",
    ]
    command = ["ssh"]
    if access.ssh_config:
        command += ["-F", str(access.ssh_config)]
    if access.known_hosts:
        options += [f'UserKnownHostsFile="{access.known_hosts}"', "GlobalKnownHostsFile=/dev/null"]
    if access.identity:
        # Another key of an agent, or of a shared connection, is another identity.
        options += ["IdentitiesOnly=yes", "ControlPath=none"]
        command += ["-i", str(access.identity)]
    for option in options:
        command += ["-o", option]
    return command


def _look_at_files(address: RemoteAddress, access: RemoteAccess) -> None:
    """Git and ssh each have their own way of not saying which file they miss."""
    files: tuple[Path | None, ...] = ()
    if address.scheme is Scheme.HTTPS:
        files = (access.ca_file, access.certificate_file, access.key_file)
    elif address.scheme is Scheme.SSH:
        files = (access.identity, access.known_hosts, access.ssh_config)
    for file in files:
        if file is not None and not os.access(file, os.R_OK):
            raise AccessError(f"cannot read {file}", "the settings name it: see docs/git.md")


def _protocols(address: RemoteAddress) -> str:
    if address.scheme.is_local:
        return "file"
    # A forge may move http to https, never back.
    return "http:https" if address.scheme is Scheme.HTTP else str(address.scheme)


def _always() -> Iterator[Setting]:
    """Git settings of every git process: whatever the account's own configuration says must not change what a push or a fetch does."""
    yield "core.hooksPath", "/dev/null"
    yield "core.bigFileThreshold", BIG_FILE
    yield "gc.auto", "0"
    yield "maintenance.auto", "false"
    yield "protocol.version", "2"
    yield "push.gpgSign", "false"
    yield "push.followTags", "false"
    yield "push.recurseSubmodules", "no"
    yield "fetch.recurseSubmodules", "false"
    yield "fetch.writeCommitGraph", "false"
    yield "color.ui", "false"


def _web(address: RemoteAddress, access: RemoteAccess) -> Iterator[Setting]:
    if not address.scheme.is_web:
        return
    # A header set by hand would follow a redirect to another host.
    yield "http.followRedirects", "false" if access.is_bearer else "initial"
    yield "http.lowSpeedLimit", "1"
    yield "http.lowSpeedTime", str(STALL_SECONDS)
    yield "http.sslVerify", "true"
    if access.ca_file:
        yield "http.sslCAInfo", str(access.ca_file)
    if access.certificate_file:
        yield "http.sslCert", str(access.certificate_file)
    if access.key_file:
        yield "http.sslKey", str(access.key_file)
    if access.proxy:
        yield "http.proxy", access.proxy.reveal()


def _number_settings(settings: list[Setting]) -> dict[str, str]:
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found
