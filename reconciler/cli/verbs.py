"""The verbs of `gitvirt`: name, module, summary, in the order of the overview. Importing this imports none of them.

It is the only list of verbs. The overview, help, completion and suggestions read it; a verb that is not here cannot
be called. `exec` and `uncordon` show that two verbs may share a module, which then finds the name of the called one
in `arguments.verb`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import NamedTuple


class Verb(NamedTuple):
    """`module` is a full name: a verb lives with the package that it drives."""

    module: str
    summary: str

    def load(self) -> ModuleType:
        """Imports the verb's module. This is the moment at which a verb may bring large libraries."""
        return importlib.import_module(self.module)

    @property
    def sentence(self) -> str:
        return self.summary[0].upper() + self.summary[1:] + ("" if self.summary.endswith(".") else ".")


VERBS = {
    "demo": Verb(
        "reconciler.cli.demo",
        "run a whole fleet on this machine for half a minute, simulated or with real guests",
    ),
    "init": Verb(
        "reconciler.cli.init", "create a fleet repo: layout, settings, a class, CI files, editor hints"
    ),
    "poollet": Verb(
        "poollet.cli", "run the agent of a host: it runs what is assigned to its pools, and reports"
    ),
    "link": Verb(
        "reconciler.cli.link", "make or rotate the certificate of the link, and list it in gitvirt.yaml"
    ),
    "client": Verb(
        "reconciler.cli.client",
        "make or rotate the certificate of an API client, and list it with its rights",
    ),
    "token": Verb("reconciler.cli.token", "make a token with which one new host joins the fleet unattended"),
    "runtime": Verb("iri.cli.runtime", "run a server of the runtime interface: libvirt, or simulated"),
    "console": Verb("iri.cli.console", "open a machine's serial console, on its host or over the link"),
    "exec": Verb("iri.cli.console", "the same as console"),
    "logs": Verb(
        "iri.cli.logs", "print what a machine wrote to its serial console, on its host or over the link"
    ),
    "iri": Verb("iri.cli.iri", "talk to a runtime directly, like irictl"),
    "get": Verb("reconciler.cli.get", "list objects: machines, pools, volumes, ..."),
    "describe": Verb("reconciler.cli.describe", "show one object: spec, status, conditions, events, commits"),
    "history": Verb("reconciler.cli.history", "show who changed an object, when and why"),
    "tree": Verb("reconciler.cli.tree", "show machines under their pools, with volumes and interfaces"),
    "top": Verb("reconciler.cli.top", "show how full the pools are, and what machines and hosts really use"),
    "events": Verb("reconciler.cli.events", "show recent events of hosts and commits"),
    "status": Verb(
        "reconciler.cli.status", "show the fleet on one screen: synced, states, what awaits approval"
    ),
    "diff": Verb("reconciler.cli.diff", "compare what is declared with what is on the target branch"),
    "ssh": Verb(
        "reconciler.cli.ssh",
        "log in to a machine with ssh, by the address that its host reports or over the link",
    ),
    "forward": Verb("reconciler.cli.forward", "reach ports of a machine from this computer, over the link"),
    "inventory": Verb(
        "reconciler.cli.inventory", "print machines and addresses for Ansible, ssh, Prometheus or /etc/hosts"
    ),
    "wait": Verb("reconciler.cli.wait", "wait until an object reaches a state"),
    "run": Verb(
        "reconciler.cli.run", "run the reconciler: it schedules declared objects and writes the target branch"
    ),
    "plan": Verb(
        "reconciler.cli.plan", "show what a reconcile would do, what does not fit, and how to make it fit"
    ),
    "comment": Verb("reconciler.cli.comment", "write one comment on the pull request of this CI job"),
    "approve": Verb(
        "reconciler.cli.approve", "approve what awaits approval, by a commit that survives each merge"
    ),
    "pool": Verb(
        "reconciler.cli.pool", "state that the host of a pool is destroyed, or that another host has the pool"
    ),
    "purge": Verb(
        "reconciler.cli.purge", "DESTROY a deleted machine now that is kept for an undo, by a commit"
    ),
    "explain": Verb(
        "reconciler.cli.explain", "explain the placement of a machine or a volume: one row per pool"
    ),
    "cordon": Verb("reconciler.cli.cordon", "stop scheduling machines on a pool"),
    "uncordon": Verb("reconciler.cli.cordon", "schedule machines on a pool again, and end a drain"),
    "drain": Verb("reconciler.cli.drain", "move all machines off a pool"),
    "pause": Verb("reconciler.cli.pause", "leave an object as it is until it is resumed"),
    "resume": Verb("reconciler.cli.pause", "end a pause"),
    "schedule": Verb(
        "reconciler.cli.schedule", "schedule machines by the controller API, and report until they run"
    ),
    "start": Verb("reconciler.cli.power", "start machines that are off"),
    "stop": Verb("reconciler.cli.power", "stop machines, which keep their place and their disks"),
    "edit": Verb("reconciler.cli.edit", "change an object in your editor: it shows the plan, and commits"),
    "secret": Verb(
        "reconciler.cli.secret", "create, edit, show, rekey or check Secrets that are encrypted in Git"
    ),
    "delete": Verb("reconciler.cli.delete", "delete objects: remove them from their files"),
    "restart": Verb("reconciler.cli.restart", "stop and start a machine once, on its host"),
    "move": Verb("reconciler.cli.move", "stop a machine on its pool and start it on another one"),
    "replace": Verb(
        "reconciler.cli.replace",
        "RECREATE a machine with the same declaration; its local disks are DESTROYED",
    ),
    "import": Verb(
        "reconciler.cli.import_objects",
        "write files for objects exported from IronCore's API server",
    ),
    "validate": Verb("reconciler.cli.validate", "check a repo and list every problem with its place and fix"),
    "audit": Verb(
        "reconciler.cli.audit",
        "check that the rules explain every commit of the target branch, byte for byte",
    ),
    "forge": Verb("reconciler.cli.forge", "check which known attacks the rules of a forge allow"),
    "completion": Verb(
        "reconciler.cli.completion", "print the completion script of a shell: bash, zsh, fish"
    ),
    "version": Verb("reconciler.cli.version", "show the versions of everything relevant"),
}


HELP_SUMMARY = "show the help of a verb, a page of the documentation, or a problem code"
# The overview, by what people want to do. The others come last.
JOBS: Mapping[str, tuple[str, ...]] = {
    "begin": ("demo", "init", "help"),
    "look": ("status", "get", "describe", "diff", "tree", "top", "events", "history", "explain", "wait"),
    "change": (
        "start",
        "stop",
        "restart",
        "replace",
        "move",
        "edit",
        "secret",
        "delete",
        "pause",
        "resume",
        "cordon",
        "uncordon",
        "drain",
        "approve",
        "purge",
        "pool",
        "schedule",
    ),
    "review": ("validate", "plan", "comment", "audit", "forge"),
    "operate": ("run", "poollet", "runtime", "link", "client", "token"),
    "reach machines": ("ssh", "console", "exec", "logs", "forward", "inventory"),
    "on a host": ("iri",),
}


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, or None. Used for verbs, kinds, names of objects and
    states alike, so that all of them suggest by the same rule."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return near[0] if near else None
