"""gitolite on an sshd of its own: rights per user and ref, in a HOME of the test and without a system user."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.daemon import bare
from tests.servers.sshd import LOOPBACK, SshServer, ssh_server


@dataclass(frozen=True)
class GitoliteServer:
    ssh: SshServer

    @property
    def repos(self) -> Path:
        return self.ssh.home / "repositories"

    def url(self, repo: str) -> str:
        return f"ssh://{self.ssh.user}@{self.ssh.address}:{self.ssh.port}/{repo}"

    def configure(self, rules: str, *users: str) -> dict[str, Path]:
        """Gives every user a key and puts `rules` (gitolite.conf) in force; the users' private keys."""
        folder = self.ssh.home / ".gitolite"
        (folder / "conf").mkdir(exist_ok=True)
        (folder / "keydir").mkdir(exist_ok=True)
        keys = {user: self.ssh.key(user) for user in users}
        for user, key in keys.items():
            (folder / "keydir" / f"{user}.pub").write_text(key.with_suffix(".pub").read_text())
        (folder / "conf" / "gitolite.conf").write_text(rules)
        for step in (("compile",), ("trigger", "POST_COMPILE")):
            _gitolite(self.ssh, *step)
        return keys


@contextlib.contextmanager
def gitolite_server(
    folder: Path, address: str = LOOPBACK, inside: Sequence[str] = ()
) -> Iterator[GitoliteServer]:
    with ssh_server(folder, is_forced=False, address=address, inside=inside) as ssh:
        admin = ssh.key("admin")
        _gitolite(ssh, "setup", "-pk", str(admin.with_suffix(".pub")))
        yield GitoliteServer(ssh)


def _gitolite(ssh: SshServer, *arguments: str) -> None:
    environment = bare() | {
        "HOME": str(ssh.home),
        "USER": ssh.user,
        "LOGNAME": ssh.user,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ("gitolite", *arguments), env=environment, cwd=ssh.home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"gitolite {arguments[0]}: {done.stdout}{done.stderr}"
    assert (ssh.home / ".gitolite").exists(), "gitolite did not use the HOME it was given"
