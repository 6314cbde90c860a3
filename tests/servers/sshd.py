"""An sshd of its own on a free port: own host key, own users' keys, every session forced into git-shell (or gitolite).

It logs in the account that runs the tests, so it makes no system user; HOME of a session is a folder of the test.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.daemon import free_port, running

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class SshServer:
    folder: Path
    port: int
    user: str
    address: str = LOOPBACK

    @property
    def repos(self) -> Path:
        return self.home / "repos"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def authorized_keys(self) -> Path:
        return self.home / ".ssh" / "authorized_keys"

    def url(self, repo: str) -> str:
        return f"ssh://{self.user}@{self.address}:{self.port}{self.repos}/{repo}"

    def key(self, name: str) -> Path:
        """A new key pair that the server does not know yet."""
        return new_key(self.folder / f"key_{name}", name)

    def allow(self, name: str, most_file_blocks: int = 0) -> Path:
        """A new key that may log in; the hooks see its name as REMOTE_USER. With `most_file_blocks` what it runs can
        write no larger file, much as on a disk that is full."""
        private = self.folder / f"key_{name}"
        if not private.exists():
            self.key(name)
        public = private.with_suffix(".pub").read_text().strip()
        with self.authorized_keys.open("a") as keys:
            limit = f'environment="MOST_FILE_BLOCKS={most_file_blocks}",' if most_file_blocks else ""
            keys.write(f'restrict,{limit}environment="REMOTE_USER={name}" {public}\n')
        return private

    def revoke(self, name: str) -> None:
        lines = self.authorized_keys.read_text().splitlines(keepends=True)
        self.authorized_keys.write_text("".join(line for line in lines if f'REMOTE_USER={name}"' not in line))


def new_key(private: Path, comment: str, kind: str = "ed25519") -> Path:
    done = ("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", str(private))
    subprocess.run(done, check=True, capture_output=True)
    return private


@contextlib.contextmanager
def ssh_server(
    folder: Path, is_forced: bool = True, address: str = LOOPBACK, inside: Sequence[str] = ()
) -> Iterator[SshServer]:
    """With `is_forced` every session is a git-shell; otherwise authorized_keys says what a key runs.

    `inside` are words before its command that take it into another network, where it has that address.
    """
    server = SshServer(folder, free_port(), getpass.getuser(), address)
    server.repos.mkdir(parents=True)
    server.authorized_keys.parent.mkdir()
    server.authorized_keys.touch(0o600)
    host_key = new_key(folder / "host_key", "host")
    kind, value = host_key.with_suffix(".pub").read_text().split()[:2]
    server.known_hosts.write_text(f"[{address}]:{server.port} {kind} {value}\n")
    config = folder / "sshd_config"
    config.write_text(_config(server, is_forced))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd confines itself there, and insists on it
    program = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    assert program, "sshd is not installed: make setup-test"
    log = folder / "sshd.log"
    command: list[str | Path] = [*inside, program, "-D", "-e", "-f", config]
    with running(command, lambda: "Server listening on" in log.read_text(), log):
        yield server


def _config(server: SshServer, is_forced: bool) -> str:
    lines = [
        f"Port {server.port}",
        f"ListenAddress {server.address}",
        f"HostKey {server.folder}/host_key",
        f"PidFile {server.folder}/sshd.pid",
        f"AuthorizedKeysFile {server.authorized_keys}",
        "AuthenticationMethods publickey",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "UseDNS no",
        "PermitUserEnvironment REMOTE_USER,MOST_FILE_BLOCKS",
        "AcceptEnv GIT_PROTOCOL",
        "MaxStartups 200",
        "KexAlgorithms curve25519-sha256",  # what is agreed on otherwise takes a client five times as much work
        "PrintMotd no",
        f"SetEnv HOME={server.home} GIT_CONFIG_NOSYSTEM=1",
    ]
    if is_forced:
        limit = '[ -z "$MOST_FILE_BLOCKS" ] || { trap "" XFSZ; ulimit -f "$MOST_FILE_BLOCKS"; }'
        lines.append(f'ForceCommand {limit}; exec git-shell -c "$SSH_ORIGINAL_COMMAND"')
    return "\n".join(lines) + "\n"
