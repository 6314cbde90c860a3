"""`gitvirt version`: what is installed here."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess

from reconciler.cli.exits import Exit
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.terminal import out

EXAMPLES = "examples:\n  gitvirt version\n  gitvirt version -o json"
LIBRARIES = (
    "pygit2",
    "grpcio",
    "protobuf",
    "jsonschema-rs",
    "msgspec",
    "ruamel.yaml",
    "yaml-rs",
    "libvirt-python",
)


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


def run(arguments: argparse.Namespace) -> int:
    versions = {"gitvirt": installed("gitvirt"), "python": platform.python_version()}
    versions |= {name: installed(name) for name in LIBRARIES}
    versions |= {name: said(command) for name, command in PROGRAMS.items()}
    if is_value(arguments.output):
        show_value(out(), arguments.output, versions)
    else:
        out().table(
            ("COMPONENT", "VERSION"),
            [(name, version or "not installed") for name, version in versions.items()],
        )
    return Exit.OK


def installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def said(command: tuple[str, ...]) -> str | None:
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
