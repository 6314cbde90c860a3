"""Who plays in the demo: a bare repo, a reconciler, and hosts, each a runtime and its poollet, in processes of their own.

Owns the processes and the folder's layout. Everything ends with `close`, and with this process however it ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from reconciler.cli.exits import CommandError
from reconciler.cli.interrupt import Interrupt

HOSTS = ("rack-a1", "rack-a2", "rack-b1")
PROFILE = """{{"host": "{name}", "capacity": {{"cpu": 16, "memory": 68719476736, "storage": 1099511627776}},
"times": {{"boot": [0.4, 0.8, 1.5], "pull": [0.3, 0.5, 1.0], "clone": [0.2, 0.3, 0.5]}}}}
"""
CONFIG = """name: {name}
repo: {{url: {repo}, mirror: {folder}/{name}/mirror}}
hostID: {name}
runtimes: [{{name: {name}, machine: {socket}, volume: {socket}}}]
pools:
  - {{name: {name}, runtime: {name}}}
  - {{name: {name}, kind: VolumePool, runtime: {name}, reachableFrom: [{name}]}}
intervals: {{poll: 1s, list: 1s}}
"""
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
STOP_SECONDS = 10.0
START_SECONDS = 30.0


class Cast:
    """`checkout` is what a person would work in."""

    def __init__(self, folder: Path, interrupt: Interrupt) -> None:
        self.folder = folder
        self.interrupt = interrupt
        self.repo = folder / "fleet.git"
        self.checkout = folder / "fleet"
        self.playing: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "GITVIRT_REPO": str(self.repo),
            "GITVIRT_CACHE": str(folder / "cache"),
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        }

    def make_repo(self) -> None:
        self.git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.repo))
        copy(site(), self.checkout)
        settings = self.checkout / "gitvirt.yaml"
        settings.write_text(settings.read_text() + "heartbeat: {interval: 5s}\n")
        self.git(self.checkout, "init", "--quiet", "--initial-branch=main")
        self.git(self.checkout, "remote", "add", "origin", str(self.repo))
        self.commit("three hosts, a web tier and a database")

    def commit(self, message: str) -> None:
        """All that changed in the checkout, as a person commits and pushes it."""
        self.git(self.checkout, "add", "--all")
        self.git(self.checkout, "commit", "--quiet", "--message", message)
        self.git(self.checkout, "push", "--quiet", "origin", "main")

    def git(self, folder: Path, *arguments: str) -> str:
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ("git", *person, *arguments),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            start_new_session=True,  # Ctrl-C lets it finish
        )
        if done.returncode:
            raise CommandError(f"git {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def reconcile(self) -> None:
        self.start("reconciler", "run", "--repo", str(self.repo), "--name", "demo")

    def host(self, name: str) -> None:
        """A runtime, which keeps its machines over a restart, and the poollet that drives it."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        self.start_runtime(name)
        config = home / "poollet.yaml"
        config.write_text(
            CONFIG.format(name=name, repo=self.repo, folder=self.folder, socket=self.socket(name))
        )
        self.start(f"poollet {name}", "poollet", "--config", str(config))

    def start_runtime(self, name: str) -> None:
        home = self.folder / name
        listen = ("--listen", str(self.socket(name)))
        (home / "profile.json").write_text(PROFILE.format(name=name))
        options = ("--profile", str(home / "profile.json"), "--state", str(home / "state"), "--seed", "7")
        self.start(f"runtime {name}", "runtime", "simulated", *listen, *options)
        self.await_socket(name)

    def socket(self, name: str) -> Path:
        return self.folder / name / "runtime.sock"

    def await_socket(self, name: str) -> None:
        ends = time.monotonic() + START_SECONDS
        while not self.socket(name).exists():
            self.check()
            if time.monotonic() > ends:
                raise CommandError(
                    f"the runtime of {name} does not begin", f"its log: {self.log_of(f'runtime {name}')}"
                )
            time.sleep(0.05)

    def start(self, role: str, *words: str) -> None:
        (self.folder / "logs").mkdir(exist_ok=True)
        with self.log_of(role).open("ab") as log:
            self.playing[role] = subprocess.Popen(
                [sys.executable, "-m", "reconciler", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,  # Ctrl-C is for us; we end the others in order
                preexec_fn=die_with_parent,
            )

    def kill(self, role: str) -> None:
        """As a power cut would."""
        process = self.playing.pop(role)
        process.kill()
        process.wait()
        if role.startswith("runtime "):
            self.socket(role.removeprefix("runtime ")).unlink(missing_ok=True)

    def check(self) -> None:
        """Raises when somebody is gone who should be there, or when it is to end."""
        self.interrupt.obey()
        for role, process in self.playing.items():
            if process.poll() is not None:
                last = self.log_of(role).read_text(errors="replace").strip().splitlines()[-3:]
                raise CommandError(f"the {role} ended with {process.returncode}: {' / '.join(last)}")

    def log_of(self, role: str) -> Path:
        return self.folder / "logs" / f"{role.replace(' ', '-')}.log"

    def close(self) -> None:
        """Poollets first, so that none reports the end of a runtime as an accident."""
        for group in ("poollet", "reconciler", "runtime"):
            ending = [process for role, process in self.playing.items() if role.startswith(group)]
            stop(ending)
        self.playing.clear()


def stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    ends = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(max(0.1, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def site() -> Traversable:
    """The example repo: beside the packages in a checkout, inside of them in a wheel."""
    packaged = files("reconciler") / "template" / "site"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "examples" / "repo"


def copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
