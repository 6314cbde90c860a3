"""The verbs of `gitvirt`: name, module, summary. Importing this imports none of them."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import NamedTuple


class Verb(NamedTuple):
    """`module` is a full name: a verb lives with the package that it drives."""

    module: str
    summary: str

    def load(self) -> ModuleType:
        return importlib.import_module(self.module)

    @property
    def sentence(self) -> str:
        return self.summary[0].upper() + self.summary[1:] + ("" if self.summary.endswith(".") else ".")


VERBS = {
    "demo": Verb(
        "reconciler.cli.demo", "a whole fleet on this machine, live, in half a minute; with real guests too"
    ),
    "init": Verb("reconciler.cli.init", "a new repo: layout, settings, a class, CI files, editor hints"),
    "poollet": Verb(
        "poollet.cli", "the agent of a host: makes real what is assigned to its pools, and reports"
    ),
    "runtime": Verb("iri.cli.runtime", "a server of the runtime interface: libvirt, or simulated"),
    "console": Verb("iri.cli.console", "a machine's serial console, on the host it runs on"),
    "exec": Verb("iri.cli.console", "another name of console: the runtime interface calls it so"),
    "iri": Verb("iri.cli.iri", "talk to a runtime directly, as irictl does"),
    "get": Verb("reconciler.cli.get", "objects of a kind as they are: machines, pools, volumes, ..."),
    "describe": Verb("reconciler.cli.describe", "everything about one object: conditions, events, commits"),
    "history": Verb("reconciler.cli.history", "who changed an object when, and what became of it"),
    "tree": Verb("reconciler.cli.tree", "machines under their pools, with volumes and interfaces"),
    "top": Verb("reconciler.cli.top", "how full the pools are"),
    "events": Verb("reconciler.cli.events", "what happened lately, on hosts and in commits"),
    "wait": Verb("reconciler.cli.wait", "until an object is as a script needs it"),
    "run": Verb(
        "reconciler.cli.run", "the reconciler: places what people declare, and keeps the target branch true"
    ),
    "plan": Verb(
        "reconciler.cli.plan", "what a reconcile would do, what does not fit, and what would make it fit"
    ),
    "comment": Verb("reconciler.cli.comment", "one comment on the pull request that CI runs for"),
    "explain": Verb(
        "reconciler.cli.explain", "why a machine or a volume is where it is, or nowhere: one row per pool"
    ),
    "cordon": Verb("reconciler.cli.cordon", "no new machines on a pool"),
    "uncordon": Verb("reconciler.cli.cordon", "a pool takes machines again"),
    "drain": Verb("reconciler.cli.drain", "the machines of a pool leave it"),
    "pause": Verb("reconciler.cli.pause", "nothing is done to an object until it is resumed"),
    "resume": Verb("reconciler.cli.pause", "the end of a pause"),
    "restart": Verb("reconciler.cli.restart", "stop and start a machine once, where it is"),
    "validate": Verb(
        "reconciler.cli.validate", "everything that is wrong with a repo, with where and what to do"
    ),
    "completion": Verb(
        "reconciler.cli.completion", "the script that makes a shell complete: bash, zsh, fish"
    ),
    "version": Verb("reconciler.cli.version", "versions of everything relevant"),
}


def closest(name: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return near[0] if near else None
