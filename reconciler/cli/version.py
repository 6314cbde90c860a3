"""`gitvirt version`: the versions of gitvirt and of every library and program that it uses here, and which libvirt
answers.

For reports of bugs. It reads no repo and always ends with exit code 0: what is not installed is shown as such.
libvirt and programs are asked with a time limit, because a hanging libvirtd is just what such a report is about.
libvirt's library is imported only where it is asked.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess

from iri.cli.runtime.settings_file import read_libvirt_settings
from iri.libvirt.settings import Settings
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.terminal import out
from reconciler.gitstore.worktree import revision

EXAMPLES = """examples:
  gitvirt version
  gitvirt version -o json
  gitvirt version --libvirt qemu:///session    of this libvirt, not of the one in the host's settings"""
LIBRARIES = ("grpcio", "protobuf", "msgspec", "ruamel.yaml", "yaml-rs", "jsonschema", "jsonschema-rs")
IRI = "v1alpha1"
# What each host needs beside them, by what says its version.
PROGRAMS = {
    "git": ("git", "--version"),
    "ssh": ("ssh", "-V"),
    "libvirtd": ("libvirtd", "--version"),
    "qemu": (f"qemu-system-{platform.machine()}", "--version"),
}
SECONDS = 10.0
NUMBER = re.compile(r"\d+(?:\.\d+)+\w*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format(parser, "text")
    parser.add_argument(
        "--libvirt",
        metavar="URI",
        help="URI of the libvirt to query (default: as in the settings of the runtime)",
    )


def run(arguments: argparse.Namespace) -> int:
    found = versions(arguments.libvirt)
    if is_value(arguments.output):
        show_value(out(), arguments.output, found)
    else:
        out().table(
            ("COMPONENT", "VERSION"), [(name, version or "not installed") for name, version in found.items()]
        )
    return Exit.OK


def versions(uri: str | None) -> dict[str, str | None]:
    """None for what is not there. Whichever libvirt answers speaks for itself and its hypervisor before their programs do."""
    found: dict[str, str | None] = {
        "gitvirt": find_distribution("gitvirt"),
        "python": platform.python_version(),
        **revision.library_versions(),
        **{name: find_distribution(name) for name in LIBRARIES},
        "iri": IRI,
        "libvirt-python": find_distribution("libvirt-python"),
    }
    answers = hypervisor(uri)
    found |= answers
    return found | {name: answers.get(name) or read_program_version(of) for name, of in PROGRAMS.items()}


def hypervisor(uri: str | None) -> dict[str, str | None]:
    """Versions of libvirt and QEMU for `gitvirt version`; None for what is not there. Imports libvirt here alone: only hosts that run it
    have the library."""
    try:
        from iri.libvirt.connect import versions as libvirt
    except ImportError:
        return {"libvirt": None}
    daemon, emulator = libvirt.daemon(uri or find_libvirt_uri()) or (None, None)
    return {"libvirt": libvirt.library(), "libvirtd": daemon, "qemu": emulator}


def find_libvirt_uri() -> str:
    """Where the libvirt runtime of this host would look."""
    try:
        return read_libvirt_settings(None).uri
    except CommandError:  # which the runtime says; a wrong file must not keep anyone from reporting versions
        return Settings().uri


def find_distribution(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_program_version(command: tuple[str, ...]) -> str | None:
    """None where the program is not there, or does not say."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
    program = shutil.which(command[0], path=path)
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = NUMBER.search(done.stdout + done.stderr)
    return found[0] if found else None
