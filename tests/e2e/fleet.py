"""Who takes part besides the hosts: a Git server with rights per ref, people with a checkout, and reconcilers."""

from __future__ import annotations

import base64
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.network import Place
from tests.e2e.process import Process, run

FLEET = "5b1e7c1e-3f0a-4a57-9a58-6d1f4f1d2a10"


@dataclass(frozen=True)
class Server:
    """A repo on it as each of its users reaches it, and `repo`, its own copy, which tests only look at."""

    url: str
    repo: Path
    access: Mapping[str, Mapping[str, str]]  # by user: the variables of docs/git.md


@dataclass(frozen=True)
class Person:
    """Works in a checkout with git and with gitvirt's verbs, and reaches nothing else."""

    name: str
    place: Place
    checkout: Path
    server: Server

    @property
    def variables(self) -> dict[str, str]:
        identity = {"AUTHOR": self.name, "COMMITTER": self.name}
        named = {f"GIT_{role}_NAME": name.title() for role, name in identity.items()}
        mailed = {f"GIT_{role}_EMAIL": f"{name}@example.org" for role, name in identity.items()}
        access = self.server.access[self.name]
        cache = str(self.checkout.parent / "cache")
        return {**named, **mailed, **access, **_for_git(access), "GITVIRT_CACHE": cache}

    def git(self, *arguments: str, codes: Collection[int] = (0,)) -> str:
        return run(self.place.inside, ("git", *arguments), self.checkout, self.variables, codes)

    def gitvirt(self, *arguments: str, codes: Collection[int] = (0,)) -> str:
        command = (sys.executable, "-m", "reconciler", *arguments)
        return run(self.place.inside, command, self.checkout, self.variables, codes)

    def write(self, files: Mapping[str, str | None]) -> None:
        for path, text in files.items():
            place = self.checkout / path
            if text is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)

    def commit(self, message: str, files: Mapping[str, str | None], *trailers: str) -> str:
        """Onto whatever the others have pushed meanwhile."""
        self.git("pull", "--quiet", "--rebase", "origin", "main")
        self.write(files)
        self.git("add", "--all")
        confirming = [word for trailer in trailers for word in ("--trailer", trailer)]
        self.git("commit", "--quiet", "--allow-empty", "--message", message, *confirming)
        self.git("push", "--quiet", "origin", "HEAD:main")
        return self.git("rev-parse", "HEAD").strip()

    def wait(self, kind: str, name: str, what: str, seconds: int = 150) -> None:
        self.gitvirt("wait", kind, name, "--for", what, "--timeout", f"{seconds}s")


@dataclass
class Reconciler:
    """`gitvirt run` on a machine, with a folder, of its own."""

    name: str
    place: Place
    folder: Path
    server: Server
    process: Process | None = None

    def start(self) -> None:
        self.folder.mkdir()
        given = {**self.server.access["reconciler"], "GITVIRT_CACHE": str(self.folder / "cache")}
        author = "gitvirt <gitvirt@example.org>"
        arguments = (
            "run",
            "--repo",
            self.server.url,
            "--name",
            self.name,
            "--author",
            author,
            "--interval",
            "3s",
        )
        self.process = Process(self.folder / "log", self.place.inside, arguments, given)

    @property
    def log_text(self) -> str:
        return self.process.log_text if self.process else ""

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


def _for_git(access: Mapping[str, str]) -> dict[str, str]:
    """What makes the git program reach the repo as gitvirt does."""
    if "GITVIRT_TOKEN_FILE" in access:
        words = f"{access['GITVIRT_USERNAME']}:{Path(access['GITVIRT_TOKEN_FILE']).read_text()}"
        header = f"Authorization: Basic {base64.b64encode(words.encode()).decode()}"
        return {
            "GIT_SSL_CAINFO": access["GITVIRT_CA_FILE"],
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": header,
        }
    known, key = access["GITVIRT_KNOWN_HOSTS"], access["GITVIRT_IDENTITY"]
    ssh = f"ssh -F /dev/null -o IdentitiesOnly=yes -o UserKnownHostsFile={known} -i {key}"
    return {"GIT_SSH_COMMAND": ssh}
