"""The demo's processes: a bare repo, a reconciler, and hosts, each a runtime and its poollet.

Owns the processes and the folder's layout. They end with `close`, and with this process however it ends: the kernel signals each child when its
parent dies, and a cleanup process removes the folder when the last holder of its pipe is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from reconciler.cli.demo.hosts import NAMES, Hosts
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.interrupt import Interrupt

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
PATIENCE_SECONDS = 180.0
UNDO = "10s"
LOOK_SECONDS = 0.05


class DemoProcesses:
    """`checkout` is what a person would work in. `held` stays open in all who play, until the last of them is gone."""

    def __init__(self, folder: Path, held: int, interrupt: Interrupt, hosts: Hosts) -> None:
        self.folder = folder
        self.held = held
        self.interrupt = interrupt
        self.hosts = hosts
        self.repo = folder / "fleet.git"
        self.checkout = folder / "fleet"
        self.playing: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "GITVIRT_REPO": str(self.repo),
            "GITVIRT_CACHE": str(folder / "cache"),
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        }

    def make_repo(self) -> None:
        """A bare repo and a checkout with the example site, fitted to the hosts, and its first commit pushed. The
        heartbeat and the time for an undo are short, so that the audience sees what follows."""
        self.git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.repo))
        copy(site(), self.checkout)
        for manifest in self.checkout.glob("[!.]*/*.yaml"):
            manifest.write_text(self.hosts.fit_manifest(manifest.read_text()))
        settings = self.checkout / "gitvirt.yaml"
        undo = settings.read_text().replace("limits:\n", f"limits:\n  undo: {UNDO}\n")
        settings.write_text(undo + "heartbeat: {interval: 5s}\n")
        self.git(self.checkout, "init", "--quiet", "--initial-branch=main")
        self.git(self.checkout, "remote", "add", "origin", str(self.repo))
        self.commit("three hosts, a web tier and a database")

    def commit(self, message: str) -> None:
        """All that changed in the checkout, as a person commits and pushes it."""
        self.git(self.checkout, "add", "--all")
        self.git(self.checkout, "commit", "--quiet", "--message", message)
        self.git(self.checkout, "push", "--quiet", "origin", "main")

    def git(self, folder: Path, *arguments: str) -> str:
        """Runs git as the person of the demo, and returns what it printed. The person's name and signing are set
        for this call alone; no configuration of this machine is read for them or changed."""
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ("git", *person, *arguments),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            start_new_session=True,  # Ctrl-C lets it finish
            pass_fds=(self.held,),
        )
        if done.returncode:
            raise CommandError(f"git {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def reconcile(self) -> None:
        """Starts the reconciler."""
        self.start("reconciler", *gitvirt("run", "--repo", str(self.repo), "--name", "demo"))

    def begin_hosts(self) -> None:
        """Runtimes, which keep their machines over a restart, and the poollets that drive them."""
        for name in NAMES:
            self.start_runtime(name)
        for name in NAMES:
            self.await_runtime(name)
            config = self.folder / name / "poollet.yaml"
            config.write_text(
                CONFIG.format(name=name, repo=self.repo, folder=self.folder, socket=self.socket(name))
            )
            self.start(f"poollet {name}", *gitvirt("poollet", "--config", str(config)))

    def fail(self, name: str) -> None:
        """Kills a runtime and what its host loses with it. The poollet goes on and reports that its runtime does
        not answer."""
        self.hosts.fail(name)
        self.kill(f"runtime {name}")
        self.socket(name).unlink(missing_ok=True)

    def come_back(self, name: str) -> None:
        """Starts the runtime again on the same state, so that it finds its machines as before."""
        self.hosts.come_back(name)
        self.start_runtime(name)
        self.await_runtime(name)

    def start_runtime(self, name: str) -> None:
        self.wait(lambda: self.hosts.is_ready(name), f"the libvirtd of {name} did not start")
        self.start(f"runtime {name}", *self.hosts.runtime(name, self.socket(name)))

    def await_runtime(self, name: str) -> None:
        self.wait(self.socket(name).exists, f"the runtime of {name} did not start")

    def socket(self, name: str) -> Path:
        return self.folder / name / "runtime.sock"

    def wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Waits until something is so. An end of any process of the demo meanwhile is an error at once, not after
        the patience."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            if time.monotonic() > ends:
                raise CommandError(otherwise, f"the logs are in {self.folder / 'logs'}", Exit.TIMED_OUT)
            self.pause(LOOK_SECONDS)

    def pause(self, seconds: float) -> None:
        """Sleeps a moment, unless a process ended or the demo was interrupted."""
        self.check()
        time.sleep(seconds)

    def start(self, role: str, *words: str) -> None:
        """Starts a process with its own log. It dies with this one even if this one is killed, and keeps the folder
        until it is gone."""
        self.check()
        (self.folder / "logs").mkdir(exist_ok=True)
        with self.log_of(role).open("ab") as log:
            self.playing[role] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,  # Ctrl-C is for us; we end the others in order
                pass_fds=(self.held,),
                preexec_fn=partial(die_with, os.getpid()),
            )

    def kill(self, role: str) -> None:
        """As a power cut would."""
        process = self.playing.pop(role)
        process.kill()
        process.wait()

    def check(self) -> None:
        """Raises when a process ended that should run, and when the demo is interrupted."""
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
        self.hosts.close()


def gitvirt(*words: str) -> tuple[str, ...]:
    """The command of a verb, by this interpreter: the demo works from a checkout or a virtual environment that is
    not on PATH."""
    return sys.executable, "-m", "reconciler", *words


def stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Asks all of them to end, and kills those that still run after STOP_SECONDS."""
    for process in processes:
        process.terminate()
    ends = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(max(0.1, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def die_with(parent: int) -> None:
    """In a child, before it is another program. A parent that ended before the order was given sends no signal any more."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def site() -> Traversable:
    """The example repo: beside the packages in a checkout, inside of them in a wheel."""
    packaged = files("reconciler") / "template" / "site"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "examples" / "repo"


def copy(source: Traversable, target: Path) -> None:
    """Copies a folder. Its files may be inside of a wheel, so they are read as resources and not as paths."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
