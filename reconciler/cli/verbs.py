"""The verbs of `gitvirt`: name, module, summary. Importing this imports none of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple


class Verb(NamedTuple):
    module: str
    summary: str

    @property
    def sentence(self) -> str:
        return self.summary[0].upper() + self.summary[1:] + ("" if self.summary.endswith(".") else ".")


VERBS = {
    "demo": Verb("demo", "a whole fleet on this machine, live, in half a minute; with real guests too"),
    "init": Verb("init", "a new repo: layout, settings, a class, CI files, editor hints"),
    "poollet": Verb("poollet", "the agent of a host: makes real what is assigned to its pools, and reports"),
    "runtime": Verb("runtime", "a server of the runtime interface: libvirt, or simulated"),
    "console": Verb("console", "a machine's serial console, on the host it runs on"),
    "exec": Verb("console", "another name of console: the runtime interface calls it so"),
    "iri": Verb("iri", "talk to a runtime directly, as irictl does"),
    "get": Verb("get", "objects of a kind as they are: machines, pools, volumes, ..."),
    "describe": Verb("describe", "everything about one object: conditions, events, commits"),
    "history": Verb("history", "who changed an object when, and what became of it"),
    "tree": Verb("tree", "machines under their pools, with volumes and interfaces"),
    "top": Verb("top", "how full the pools are"),
    "events": Verb("events", "what happened lately, on hosts and in commits"),
    "wait": Verb("wait", "until an object is as a script needs it"),
    "run": Verb("run", "the reconciler: places what people declare, and keeps the target branch true"),
    "plan": Verb("plan", "what a reconcile would do, what does not fit, and what would make it fit"),
    "comment": Verb("comment", "one comment on the pull request that CI runs for"),
    "explain": Verb("explain", "why a machine or a volume is where it is, or nowhere: one row per pool"),
    "cordon": Verb("cordon", "no new machines on a pool"),
    "uncordon": Verb("uncordon", "a pool takes machines again"),
    "drain": Verb("drain", "the machines of a pool leave it"),
    "pause": Verb("pause", "nothing is done to an object until it is resumed"),
    "resume": Verb("resume", "the end of a pause"),
    "restart": Verb("restart", "stop and start a machine once, where it is"),
    "validate": Verb("validate", "everything that is wrong with a repo, with where and what to do"),
    "completion": Verb("completion", "the script that makes a shell complete: bash, zsh, fish"),
    "version": Verb("version", "versions of everything relevant"),
}


def closest(name: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return near[0] if near else None
