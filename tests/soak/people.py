"""What people write: a source tree in which objects are in files, alone or several in one, with comments of their own.

Owns the source branch and remembers what it was, for reverts. It must not know what comes of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from schemas.settings.fleet import DEFAULT_INPUTS
from tests.poollet.fleet import MAIN, SETTINGS, Fleet, machine_class

MACHINES = tuple(f"m{number}" for number in range(9))
VOLUMES = ("v0", "v1", "v2")
SHARED = "all.yaml"
FOREIGN = "\t- nothing: of ours\n"  # can be read, and declares nothing
GARBAGE = ("kind: [\n", "spec: {a: b\n", FOREIGN)
COMPUTE, STORAGE = "compute.ironcore.dev/v1alpha1", "storage.ironcore.dev/v1alpha1"
VOLUME_CLASS = (
    f"apiVersion: {STORAGE}\nkind: VolumeClass\nmetadata: {{name: standard}}\n"
    "capabilities: {tps: 1Mi, iops: 100}\nresizePolicy: ExpandOnly\n"
)
OFFICE = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: office}\n"
GIB = re.compile(r"storage: (\d)Gi")
LARGEST = 3  # that a volume ever is
FIXED = {
    "gitvirt.yaml": f"{SETTINGS}limits: {{undo: 5s}}\naudit: {{ref: {DEFAULT_INPUTS}}}\n",  # the undo is over before a life is judged
    "classes/small.yaml": machine_class(),
    "classes/large.yaml": machine_class("large", "2", "2Gi"),
    "classes/standard.yaml": VOLUME_CLASS,
    "office.yaml": OFFICE,
}
DISKS = {
    "none": "",
    "local": "  volumes:\n  - {name: root, localDisk: {}}\n",
    "ephemeral": (
        "  volumes:\n  - name: scratch\n    ephemeral:\n      volumeTemplate:\n"
        "        spec: {volumeClassRef: {name: standard}, resources: {storage: 1Gi}}\n"
    ),
    **{name: f"  volumes:\n  - {{name: data, volumeRef: {{name: {name}}}}}\n" for name in VOLUMES},
}
INTERFACE = (
    "  networkInterfaces:\n  - name: lan\n    ephemeral:\n      networkInterfaceTemplate:\n"
    "        spec: {networkRef: {name: office}}\n"
)
PAUSED, CALM = '    gitvirt.dev/paused: "true"\n', '    gitvirt.dev/paused: "false"\n'
TAINTS = {
    "open": "",
    "cordon": "spec: {unschedulable: true}\n",
    "drain": "spec:\n  unschedulable: true\n  taints: [{key: gitvirt.dev/drain, effect: NoExecute}]\n",
    "force": "spec:\n  unschedulable: true\n  taints: [{key: gitvirt.dev/drain, value: force, effect: NoExecute}]\n",
}


@dataclass(frozen=True)
class Declared:
    """What is declared at one moment: documents by what they are (`Machine/m1`), and the file that each is in."""

    texts: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    garbage: Mapping[str, str] = field(default_factory=dict)  # the text of a broken file

    def files(self) -> dict[str, str]:
        found: dict[str, list[str]] = {}
        for name, text in sorted(self.texts.items()):
            found.setdefault(self.paths[name], []).append(text)
        whole = {path: "---\n".join(texts) for path, texts in found.items()}
        return FIXED | whole | {path: text for path, text in self.garbage.items() if path in whole}


@dataclass
class People:
    fleet: Fleet
    chance: random.Random
    now: Callable[[], datetime]
    declared: Declared = field(default_factory=Declared)
    before: list[Declared] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)  # what ever left the source
    orders: dict[str, str] = field(default_factory=dict)  # files that have orphans deleted
    _there: dict[str, str] = field(default_factory=dict)
    _notes: int = 0

    def commit(self, trailers: Sequence[tuple[str, str]] = (), *, is_forced: bool = False) -> None:
        """The source branch becomes what was said; `is_forced` makes it a history of its own."""
        files = self.declared.files() | self.orders
        gone: dict[str, str | None] = {path: None for path in self._there if path not in files}
        changed = {path: text for path, text in files.items() if is_forced or self._there.get(path) != text}
        more: dict[str, object] = {"trailers": trailers, "even_if_unchanged": True, "time": self.now()}
        if is_forced:
            more |= {"base": None, "has_parents": False}
            gone = {}
        self.fleet.commit({**gone, **changed}, MAIN, **more)
        self._there = files

    def say(self, declared: Declared) -> None:
        self.before = [*self.before[-9:], self.declared]
        self._release(declared)
        self.declared = declared
        self.commit()

    def _release(self, declared: Declared) -> None:
        """What will not be declared any more: a file that says something else doubtlessly counts as doubtful only where
        live has its documents, and one that cannot be read only in the commit that broke it: whoever moves there later is
        gone."""
        self.dropped |= self.declared.texts.keys() - declared.texts.keys()
        self.dropped |= {
            name for name, path in declared.paths.items() if declared.garbage.get(path) == FOREIGN
        }
        was = self.declared.files()
        broken = {path for path, text in declared.garbage.items() if was.get(path) == text}
        moved = {name for name, path in declared.paths.items() if self.declared.paths.get(name) != path}
        self.dropped |= {name for name in moved if declared.paths[name] in broken}

    # One change each; each returns what it did, for the trace.

    def declare(self) -> str:
        """A new machine, or another wish for one that is there."""
        name = self.chance.choice(MACHINES)
        self.put(f"Machine/{name}", self._machine(name))
        return name

    def change(self) -> str:
        """The power or a comment of a machine, nothing else."""
        name = self._any("Machine")
        text = self.declared.texts[name] if name else ""
        if not text:
            return ""
        on, off = "  power: On\n", "  power: Off\n"
        other = text.replace(on, off) if on in text else text.replace(off, on)
        self.put(name, self.chance.choice((other, f"{text}# {self._note()}\n")))
        return name

    def volume(self) -> str:
        name = self.chance.choice(VOLUMES)
        policy = self.chance.choice(("", "  deletionPolicy: Delete\n"))
        size = self.chance.choice((1, 1, 2, LARGEST))
        if (old := GIB.search(self.declared.texts.get(f"Volume/{name}", ""))) is not None:
            size = max(size, int(old[1]))  # volumes only grow
        text = (
            f"apiVersion: {STORAGE}\nkind: Volume\nmetadata: {{name: {name}}}  # {self._note()}\n"
            f"spec:\n  volumeClassRef: {{name: standard}}\n  resources: {{storage: {size}Gi}}\n{policy}"
        )
        self.put(f"Volume/{name}", text)
        return f"{name} of {size}Gi"

    def delete(self) -> str:
        name = self._any("Machine", "Volume", "MachinePool")
        return self.drop(name) if name else ""

    def drop(self, *names: str) -> str:
        texts = {name: text for name, text in self.declared.texts.items() if name not in names}
        self.say(replace(self.declared, texts=texts))
        return " ".join(names)

    def move(self) -> str:
        """Into another file: it is the same object."""
        name = self._any("Machine", "Volume")
        if not name:
            return ""
        path = self.chance.choice((SHARED, f"{name}.yaml", f"moved/{name}.yaml"))
        self.say(replace(self.declared, paths={**self.declared.paths, name: path}))
        return f"{name} to {path}"

    def rename(self) -> str:
        """Into another object in the same file."""
        name = self._any("Machine")
        other = f"Machine/{self.chance.choice(MACHINES)}"
        if not name or other in self.declared.texts:
            return ""
        texts, paths = dict(self.declared.texts), dict(self.declared.paths)
        text = texts.pop(name).replace(f"  name: {name[8:]}\n", f"  name: {other[8:]}\n")
        self.say(replace(self.declared, texts={**texts, other: text}, paths={**paths, other: paths[name]}))
        return f"{name} to {other}"

    def pool(self, host: str, how: str) -> str:
        text = f"apiVersion: {COMPUTE}\nkind: MachinePool\nmetadata: {{name: {host}}}\n{TAINTS[how]}"
        self.put(f"MachinePool/{host}", text)
        return f"{host} {how}"

    def garble(self) -> str:
        paths = sorted(set(self.declared.paths[name] for name in self.declared.texts))
        if not paths:
            return ""
        path, garbage = self.chance.choice(paths), self.chance.choice(GARBAGE)
        self.say(replace(self.declared, garbage={**self.declared.garbage, path: garbage}))
        return path

    def repair(self) -> str:
        self.say(replace(self.declared, garbage={}))
        return "all files"

    def revert(self) -> str:
        if not self.before:
            return ""
        number = self.chance.randrange(len(self.before))
        self.say(self.before[number])
        return f"by {len(self.before) - number}"

    def force(self) -> str:
        """A push that is none of what was there; at times of something older too."""
        if self.before and self.chance.random() < 0.5:
            older = self.chance.choice(self.before)
            self._release(older)
            self.declared = older
        self.commit(is_forced=True)
        return "the source"

    def put(self, name: str, text: str) -> None:
        path = self.declared.paths.get(name) or self.chance.choice((SHARED, f"{name}.yaml", f"{name}.yaml"))
        texts, paths = {**self.declared.texts, name: text}, {**self.declared.paths, name: path}
        self.say(replace(self.declared, texts=texts, paths=paths))

    def heal(self) -> None:
        """Nothing is broken, paused or closed any more, and no volume smaller than it ever was: its file would be held."""
        texts = {name: text.replace(PAUSED, CALM) for name, text in self.declared.texts.items()}
        texts = {
            name: GIB.sub(f"storage: {LARGEST}Gi", text) if name.startswith("Volume/") else text
            for name, text in texts.items()
        }
        texts = {name: text for name, text in texts.items() if not name.startswith("MachinePool/")}
        self.say(replace(self.declared, texts=texts, garbage={}))

    def _machine(self, name: str) -> str:
        chance = self.chance
        size = chance.choice(("small", "small", "small", "large"))
        paused = PAUSED if chance.random() < 0.06 else ""
        restart = (
            f"    gitvirt.dev/restart: t{self._note()}\n" if chance.random() < 0.15 and not paused else ""
        )
        annotations = f"  annotations:\n{paused}{restart}" if paused or restart else ""
        spec = DISKS[chance.choice(sorted(DISKS))] + chance.choice(("", INTERFACE))
        spec += chance.choice(("", "", "", "  priority: 9\n"))
        spec += chance.choice(("", "", "", "", "  antiAffinity: {labelSelector: {}}\n"))
        spec += chance.choice(("", "", "", "", "  machinePoolRef: {name: host-1}\n"))
        spec += chance.choice(("", "", "", "  onPoolLost: Replace\n"))
        spec += chance.choice(("  power: On\n", "  power: On\n", "  power: Off\n"))
        return (
            f"apiVersion: {COMPUTE}\nkind: Machine\nmetadata:\n  name: {name}\n{annotations}"
            f"spec:\n  machineClassRef: {{name: {size}}}  # {self._note()}\n{spec}"
        )

    def _any(self, *kinds: str) -> str:
        names = sorted(name for name in self.declared.texts if name.partition("/")[0] in kinds)
        return self.chance.choice(names) if names else ""

    def _note(self) -> str:
        self._notes += 1
        return f"note-{self._notes}."
