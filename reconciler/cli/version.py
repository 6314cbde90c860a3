"""`gitvirt version`: what is installed here."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform

from reconciler.cli.exits import Exit
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="format (default: text)"
    )


def run(arguments: argparse.Namespace) -> int:
    versions = {"gitvirt": installed("gitvirt"), "python": platform.python_version()}
    versions |= {name: installed(name) for name in LIBRARIES}
    terminal = out()
    if arguments.output == "json":
        terminal.line(json.dumps(versions, indent=2))
    else:
        terminal.table(
            ("COMPONENT", "VERSION"),
            [(name, version or "not installed") for name, version in versions.items()],
        )
    return Exit.OK


def installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
