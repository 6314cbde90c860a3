"""One Ceph pool by the commands `rbd` and `qemu-img`: images, their metadata, snapshots and clones.

libvirt's own backend for RBD has no metadata, snapshots, renaming or flattening, and looks at every image of a pool before it
finds one that it did not create.

Commands exit with Ceph's error number, which decides the class of the error; their last line is the reason that people read. Each has
a time limit, and one that exceeds it may have taken effect. So callers only use commands that may be repeated.

A clone needs its parent's snapshot, and Ceph refuses to remove a snapshot that has clones. So the snapshot is protected when it is
made, and before it is removed its clones are flattened: each gets its own copy of the data.

Must never happen: the key is in a command line, which every user of the host can read; a command waits for input.

    exit of the command                  error
    ENOENT, EEXIST, EINVAL               NotFound, AlreadyExists, InvalidArgument
    ENOSPC, EDQUOT                       ResourceExhausted; of `qemu-img` by its text
    ETIMEDOUT, EHOSTUNREACH, refused     Unavailable
    any other                            FailedPrecondition
    no exit in time                      TimedOut; the process is killed
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from iri.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    IRIError,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
)
from iri.libvirt.volumes.settings import RbdPool
from iri.libvirt.whole_files import PRIVATE, replace_file

CONNECT_SECONDS = 10
CALL_SECONDS = 120
COPY_SECONDS = 6 * 3600
MIB = 1 << 20
CONF = """[global]
mon host = {monitors}
keyring = {keyring}
client mount timeout = {seconds}
log to stderr = false
err to stderr = false
"""
MEANINGS: dict[int, type[IRIError]] = {
    errno.ENOENT: NotFound,
    errno.EEXIST: AlreadyExists,
    errno.EINVAL: InvalidArgument,
    errno.ENOSPC: ResourceExhausted,
    errno.EDQUOT: ResourceExhausted,
    errno.ETIMEDOUT: Unavailable,
    errno.EHOSTUNREACH: Unavailable,
    errno.ECONNREFUSED: Unavailable,
}
# The programs exit with 1 for errors of their own.
PROGRAMS_OWN = 1
Answer = TypeVar("Answer")


class Parent(msgspec.Struct, frozen=True):
    """The image that a clone shares data with."""

    pool: str
    image: str


class Info(msgspec.Struct, frozen=True):
    """What `rbd info` says of an image, as far as it is used. `size` is in bytes, header of LUKS included."""

    size: int
    parent: Parent | None = None


class Snap(msgspec.Struct, frozen=True):
    name: str


class Child(msgspec.Struct, frozen=True):
    """A clone, possibly in another pool or namespace."""

    pool: str
    image: str
    pool_namespace: str = ""


class Status(msgspec.Struct, frozen=True):
    watchers: list[object]


class Rbd:
    """`folder` is private to the runtime: the key is written there for the commands to read."""

    def __init__(self, pool: RbdPool, folder: Path) -> None:
        self._pool = pool
        self._folder = folder
        self.conf = folder / f"{pool.name}.conf"
        self._environment = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "LC_ALL": "C"}

    def open(self, key: str) -> None:
        """Writes the configuration and the key file for the commands."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        keyring = self._folder / f"{self._pool.name}.keyring"
        # Readable by root alone, from the first byte on.
        replace_file(keyring, f"[client.{self._pool.user}]\nkey = {key}\n".encode(), PRIVATE)
        monitors = ",".join(self._pool.monitors)
        conf = CONF.format(monitors=monitors, keyring=keyring, seconds=CONNECT_SECONDS)
        replace_file(self.conf, conf.encode(), PRIVATE)

    def images(self) -> list[str]:
        """Of the whole pool, also those that are not ours."""
        return self._read(list[str], "ls", self._pool.ceph_pool)

    def size(self, image: str) -> int:
        return self._read(Info, "info", self.spec(image)).size

    def parent(self, image: str) -> str:
        """The image of this pool that it is a clone of; empty for none."""
        parent = self._read(Info, "info", self.spec(image)).parent
        return parent.image if parent is not None and parent.pool == self._pool.ceph_pool else ""

    def exists(self, image: str) -> bool:
        """Raises where the cluster does not answer: that proves nothing."""
        try:
            self.size(image)
        except NotFound:
            return False
        return True

    def create(self, image: str, size_bytes: int) -> None:
        """An empty image, which takes no space. AlreadyExists when there is one of that name."""
        self._rbd("create", self.spec(image), "--size", _mib(size_bytes))

    def resize(self, image: str, size_bytes: int) -> None:
        """Only to grow: without another option Ceph refuses to shrink an image."""
        self._rbd("resize", self.spec(image), "--size", _mib(size_bytes), "--no-progress")

    def rename(self, image: str, to: str) -> None:
        """Ceph replaces nothing: AlreadyExists when an image has the name."""
        self._rbd("mv", self.spec(image), self.spec(to))

    def metadata(self, image: str, key: str) -> str:
        """NotFound without the key, and without the image."""
        return self._rbd("image-meta", "get", self.spec(image), key).removesuffix("\n")

    def set_metadata(self, image: str, key: str, value: str) -> None:
        self._rbd("image-meta", "set", self.spec(image), key, value)

    def snapshots(self, image: str) -> list[str]:
        return [snapshot.name for snapshot in self._read(list[Snap], "snap", "ls", self.spec(image))]

    def snap(self, image: str, name: str) -> None:
        """Makes sure of the snapshot, and protects it, as clones need."""
        spec = f"{self.spec(image)}@{name}"
        with contextlib.suppress(AlreadyExists):
            self._rbd("snap", "create", spec, "--no-progress")
        try:
            self._rbd("snap", "protect", spec)
        except FailedPrecondition as error:
            if "already protected" not in str(error):
                raise

    def clone(self, image: str, snapshot: str, to: str) -> None:
        """Of a protected snapshot. Shares its data until it is flattened."""
        self._rbd("clone", f"{self.spec(image)}@{snapshot}", self.spec(to))

    def flatten(self, image: str) -> None:
        """Copies what a clone still reads from its parent. Takes as long as copying takes."""
        self._rbd("flatten", self.spec(image), "--no-progress", seconds=COPY_SECONDS)

    def is_watched(self, image: str) -> bool:
        """Whether any host has the image open."""
        return bool(self._read(Status, "status", self.spec(image)).watchers)

    def drop(self, image: str) -> None:
        """Removes the image and its snapshots; flattens their clones first. No error when it does not exist."""
        try:
            for snapshot in self.snapshots(image):
                self.drop_snapshot(image, snapshot)
            self._rbd("rm", self.spec(image), "--no-progress", seconds=COPY_SECONDS)
        except NotFound:
            return

    def drop_snapshot(self, image: str, name: str) -> None:
        """Flattens the clones first, which takes as long as copying them takes."""
        spec = f"{self.spec(image)}@{name}"
        for child in self.children(image, name):
            self._rbd("flatten", child, "--no-progress", seconds=COPY_SECONDS)
        with contextlib.suppress(InvalidArgument):  # it is not protected
            self._rbd("snap", "unprotect", spec)
        self._rbd("snap", "rm", spec, "--no-progress")

    def children(self, image: str, snapshot: str) -> list[str]:
        """The clones of a snapshot, as `rbd` names them, also those in other pools."""
        found = self._read(list[Child], "children", f"{self.spec(image)}@{snapshot}")
        return ["/".join(filter(None, (child.pool, child.pool_namespace, child.image))) for child in found]

    def encrypt(self, image: str, passphrase_file: int) -> None:
        """Formats the image with LUKS2; what was in it is lost. The file is a descriptor that the command inherits: it cannot open those of this
        process, which is closed to others of its account (`core_dumps`)."""
        arguments = ("encryption", "format", self.spec(image), "luks2", descriptor_path(passphrase_file))
        self._rbd(*arguments, inherits=(passphrase_file,))

    def fill(self, image: str, source: Path, format: str, passphrase_file: int | None) -> None:
        """Copies the content of a file into a new image, or into an existing encrypted one."""
        if passphrase_file is None:
            target = f"rbd:{self.spec(image)}:conf={self.conf}:id={self._pool.user}"
            self._run(
                "qemu-img", "convert", "-f", format, "-O", "raw", str(source), target, seconds=COPY_SECONDS
            )
            return
        fields = {
            "driver": "rbd",
            "pool": self._pool.ceph_pool,
            "image": image,
            "conf": str(self.conf),
            "user": self._pool.user,
            "encrypt.format": "luks2",
            "encrypt.key-secret": "passphrase",
        }
        target = ",".join(f"{name}={value.replace(',', ',,')}" for name, value in fields.items())
        secret = f"secret,id=passphrase,file={descriptor_path(passphrase_file)}"
        options = ("-n", "--object", secret, "-f", format, "--target-image-opts")
        command = ("qemu-img", "convert", *options, str(source), target)
        self._run(*command, seconds=COPY_SECONDS, inherits=(passphrase_file,))

    def spec(self, image: str) -> str:
        """As commands and libvirt name it: pool/image."""
        return f"{self._pool.ceph_pool}/{image}"

    def _read(self, type: type[Answer], *arguments: str) -> Answer:
        """The answer of a command as a value. Output of another shape is Unavailable, never an empty answer."""
        answer = self._rbd(*arguments, "--format", "json")
        try:
            return msgspec.json.decode(answer, type=type)
        except msgspec.DecodeError as error:
            raise Unavailable(f"cannot parse the output of rbd {arguments[0]}: {error}") from None

    def _rbd(self, *arguments: str, seconds: float = CALL_SECONDS, inherits: Sequence[int] = ()) -> str:
        command = ("rbd", "-c", str(self.conf), "--id", self._pool.user, *arguments)
        return self._run(*command, seconds=seconds, inherits=inherits)

    def _run(self, *command: str, seconds: float, inherits: Sequence[int] = ()) -> str:
        """Commands get no standard input and a small environment; they cannot ask or read a person's configuration."""
        try:
            done = subprocess.run(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                pass_fds=inherits,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except FileNotFoundError:
            raise FailedPrecondition(f"the program {command[0]} is not installed on this host") from None
        except subprocess.TimeoutExpired:
            raise TimedOut(
                f"Ceph pool {self._pool.ceph_pool}: {command[0]} did not finish within {seconds:.0f}s"
            ) from None
        if done.returncode:
            raise self._failure(done.returncode, done.stderr)
        return done.stdout

    def _failure(self, code: int, answer: str) -> IRIError:
        """`qemu-img` exits with 1 for everything, so a full pool is known by its text alone."""
        lines = [line.strip() for line in answer.splitlines() if line.strip()]
        reason = lines[-1].removeprefix("rbd: ") if lines else f"it exited with {code}"
        message = f"Ceph pool {self._pool.ceph_pool}: {reason}"
        if code == PROGRAMS_OWN and "No space left" in answer:
            return ResourceExhausted(message)
        return MEANINGS.get(code, FailedPrecondition)(message)


def descriptor_path(descriptor: int) -> str:
    """The path of a file that a command inherits open, as the command itself sees it."""
    return f"/proc/self/fd/{descriptor}"


def _mib(size_bytes: int) -> str:
    """Rounded up: an image is never smaller than was asked for."""
    return f"{-(-size_bytes // MIB)}M"
