"""The kinds: their names and API groups, what identifies an object of each, and which kind a document has.

A repo holds other YAML too, so a foreign document is skipped with a notice. A misspelled document of ours is an error:
if it were skipped, its object would look deleted, and that is how data gets lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from schemas.problem import printable
from schemas.spelling import distance, nearest

DEFAULT_NAMESPACE = "default"
VERSION = "v1alpha1"
DOMAINS = ("ironcore.dev", "openkcm.dev")

_LONGEST = 256  # no apiVersion and kind of ours are longer, so longer ones are not compared with them


class Kind(StrEnum):
    """The kinds of manifests. The value is the one that a document has in `kind`."""

    MACHINE_CLASS = "MachineClass"
    MACHINE_POOL = "MachinePool"
    MACHINE = "Machine"
    VOLUME_CLASS = "VolumeClass"
    VOLUME_POOL = "VolumePool"
    VOLUME = "Volume"
    VOLUME_SNAPSHOT = "VolumeSnapshot"
    NETWORK = "Network"
    NETWORK_INTERFACE = "NetworkInterface"
    SECRET = "Secret"
    RESOURCE_QUOTA = "ResourceQuota"

    # Kinds are looked up for every document, and Enum's hash runs in Python. The hash of the text agrees with equality.
    __hash__ = str.__hash__

    @property
    def is_namespaced(self) -> bool:
        """Whether objects of this kind have a namespace. Classes and pools do not."""
        return self not in CLUSTER_WIDE

    @cached_property
    def schema_file(self) -> str:
        """The file in schemas/ that holds its JSON Schema: machine-class.json for MachineClass."""
        words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in self.value)
        return f"{words[1:]}.json"


CLUSTER_WIDE = frozenset({Kind.MACHINE_CLASS, Kind.MACHINE_POOL, Kind.VOLUME_CLASS, Kind.VOLUME_POOL})

GROUPS = {
    Kind.MACHINE_CLASS: "compute",
    Kind.MACHINE_POOL: "compute",
    Kind.MACHINE: "compute",
    Kind.VOLUME_CLASS: "storage",
    Kind.VOLUME_POOL: "storage",
    Kind.VOLUME: "storage",
    Kind.VOLUME_SNAPSHOT: "storage",
    Kind.NETWORK: "networking",
    Kind.NETWORK_INTERFACE: "networking",
    Kind.SECRET: "",  # apiVersion: v1
    Kind.RESOURCE_QUOTA: "core",
}


class Key(NamedTuple):
    """Identity: kind, namespace (empty for cluster-wide kinds) and name; never the path.

    A tuple, because a tuple's hash runs in C, and a reconciler with many objects looks up keys all the time.
    """

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A document of another program. `reason` completes "skipped: ...". `is_of_ironcore`: IronCore has this kind and acts on it, gitvirt does not."""

    reason: str
    is_of_ironcore: bool = False


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A misspelled document of ours; `field` is the top-level key that is wrong or missing."""

    field: str
    message: str
    hint: str


Recognized = Kind | Foreign | NearMiss


def api_version(kind: Kind, domain: str = DOMAINS[0]) -> str:
    """The apiVersion to write for a kind."""
    return "v1" if kind is Kind.SECRET else f"{GROUPS[kind]}.{domain}/{VERSION}"


_KINDS = {kind.value: kind for kind in Kind}
_OURS = {(api_version(kind, domain), kind.value): kind for kind in Kind for domain in DOMAINS}
_API_VERSIONS = {written for written, _ in _OURS} - {"v1"}
_OUR_GROUPS = tuple(
    f"{group}.{domain}" for domain in DOMAINS for group in dict.fromkeys(GROUPS.values()) if group
)
_OWN_GROUP = "gitvirt.dev"  # for kinds that IronCore does not have

# What people of other tools call a kind.
_SYNONYMS = {
    "disk": Kind.VOLUME,
    "flavor": Kind.MACHINE_CLASS,
    "host": Kind.MACHINE_POOL,
    "hypervisor": Kind.MACHINE_POOL,
    "instance": Kind.MACHINE,
    "instancetype": Kind.MACHINE_CLASS,
    "nic": Kind.NETWORK_INTERFACE,
    "node": Kind.MACHINE_POOL,
    "persistentvolume": Kind.VOLUME,
    "persistentvolumeclaim": Kind.VOLUME,
    "quota": Kind.RESOURCE_QUOTA,
    "server": Kind.MACHINE,
    "snapshot": Kind.VOLUME_SNAPSHOT,
    "storageclass": Kind.VOLUME_CLASS,
    "storagepool": Kind.VOLUME_POOL,
    "virtualmachine": Kind.MACHINE,
    "virtualmachineinstance": Kind.MACHINE,
    "vm": Kind.MACHINE,
}

# Kinds of IronCore that gitvirt does not implement, and the groups that only they have.
_OTHER_GROUPS = ("ipam",)
_OTHER_KINDS = frozenset(
    [
        "Bucket",
        "BucketClass",
        "BucketPool",
        "LoadBalancer",
        "LoadBalancerRouting",
        "NATGateway",
        "NetworkPolicy",
        "Prefix",
        "PrefixAllocation",
        "Reservation",
        "VirtualIP",
    ]
)

_GROUPS_OF_OTHERS = {
    (group, domain) for group in (*GROUPS.values(), *_OTHER_GROUPS) if group for domain in DOMAINS
}


def recognize(written_version: object, written_kind: object) -> Recognized:
    """Which kind a document with this `apiVersion` and `kind` has, or why it has none."""
    if not isinstance(written_version, str) or not isinstance(written_kind, str):
        return _incomplete(written_version, written_kind)
    kind = _OURS.get((written_version, written_kind))
    if kind is not None:
        return kind
    if len(written_version) + len(written_kind) > _LONGEST:
        return _foreign(written_version, written_kind)
    return _recognize(written_version, written_kind)


def recognize_document(body: object) -> Recognized:
    """The same for a document, so that misspelled `kind` and `apiVersion` keys are found too."""
    if not isinstance(body, Mapping):
        return Foreign("the document is not an object with apiVersion and kind")
    written_version, written_kind = body.get("apiVersion"), body.get("kind")
    found = recognize(written_version, written_kind)
    if isinstance(found, Kind) or ("apiVersion" in body and "kind" in body):
        return found
    return _misspelled_key(body) or _headless(body) or found


def _headless(body: Mapping[object, object]) -> NearMiss | None:
    """An object without its first two lines: in a repo of manifests that is a mistake, and a skipped object looks deleted."""
    metadata = body.get("metadata")
    is_object = (
        isinstance(metadata, Mapping) and "name" in metadata and {"spec", "capabilities"} & body.keys()
    )
    if not is_object or {"apiVersion", "kind"} & body.keys():
        return None
    hint = "write both, such as apiVersion: compute.ironcore.dev/v1alpha1 and kind: Machine; name the path of another program's file in .gitvirtignore"
    return NearMiss("metadata", "this object has neither apiVersion nor kind", hint)


@lru_cache(maxsize=1024)
def _recognize(written_version: str, written_kind: str) -> Recognized:
    """The slow path, for versions and kinds that are not exactly ours. Cached: a repo repeats them."""
    ours = _OURS.get((written_version.lower(), written_kind))
    if ours is not None and ours is not Kind.SECRET:
        return ours
    group, _, version = written_version.lower().rpartition("/")
    if group in _OUR_GROUPS and (version == VERSION or written_kind not in _KINDS):
        return _kind_of_our_group(written_version, written_kind, group)
    if group == _OWN_GROUP:
        return _unknown_kind(written_version, written_kind)
    if written_kind in _OTHER_KINDS and group.partition(".")[::2] in _GROUPS_OF_OTHERS:
        return _not_implemented(written_kind)
    if version == "v1" and group == "":
        return _kind_of_core(written_version, written_kind)
    meant = written_kind if written_kind in _KINDS else nearest(written_kind, _KINDS, typos=1)
    if meant is not None and _is_near(group, version, _KINDS[meant]):
        return _wrong_version(written_version, _KINDS[meant])
    return _foreign(written_version, written_kind)


def _kind_of_our_group(written_version: str, written_kind: str, group: str) -> Recognized:
    """A document whose group is ours, so its kind must be ours too or a known kind of IronCore."""
    kind = _KINDS.get(written_kind)
    if kind is not None:
        return _wrong_version(written_version, kind)
    if written_kind in _OTHER_KINDS:
        return _not_implemented(written_kind)
    return _unknown_kind(written_version, written_kind, group)


def _unknown_kind(written_version: str, written_kind: str, group: str = "") -> NearMiss:
    """An error and not another program's document: whoever writes our group means gitvirt, and a skipped object looks deleted."""
    meant = _SYNONYMS.get(written_kind.lower()) or nearest(written_kind, _KINDS, typos=2)
    ours = [kind.value for kind in Kind if GROUPS[kind] == group.partition(".")[0] != ""]
    hint = f"did you mean {meant}?" if meant else f"its kinds are: {', '.join(ours or sorted(_KINDS))}"
    message = f"there is no kind {_quote(written_kind)}"
    return NearMiss("kind", message if meant else f"{message} in {_quote(written_version)}", hint)


def _not_implemented(written_kind: str) -> Foreign:
    return Foreign(f"gitvirt does not implement {written_kind} of IronCore", is_of_ironcore=True)


def _kind_of_core(written_version: str, written_kind: str) -> Recognized:
    """`v1` is Kubernetes' own group. Of its kinds gitvirt uses only Secret; its ResourceQuota is not ours."""
    kind = _KINDS.get(written_kind)
    if kind is Kind.SECRET or (kind is None and written_kind.lower() in ("secret", "secrets")):
        if kind is not None and written_version == "v1":
            return kind
        if kind is not None:
            return _wrong_version(written_version, kind)
        return NearMiss("kind", f"there is no kind {_quote(written_kind)}", "did you mean Secret?")
    if kind is None or kind is Kind.RESOURCE_QUOTA:
        return _foreign(written_version, written_kind)
    return _wrong_version(written_version, kind)


def _is_near(group: str, version: str, kind: Kind) -> bool:
    """Whether group and version look like those of our `kind`, and not like those of another project's kind of that name."""
    if group == "":  # `v1alpha1`, `compute.ironcore.dev` without a version, `v1beta1`
        return version in (VERSION, *DOMAINS) or version in _OUR_GROUPS
    if group in _OUR_GROUPS or group in DOMAINS:
        return True
    if kind is Kind.SECRET:
        return group == "core"
    if any(distance(group, ours) <= 2 for ours in _OUR_GROUPS if abs(len(group) - len(ours)) <= 2):
        return True
    labels = group.split(".")
    return len(labels) == 3 and labels[0] == GROUPS[kind] and labels[1] in ("ironcore", "openkcm")


def _wrong_version(written_version: str, kind: Kind) -> NearMiss:
    """A kind of ours under a group or version that does not have it."""
    domain = DOMAINS[1] if "openkcm" in written_version.lower() else DOMAINS[0]
    right = api_version(kind, domain)
    return NearMiss(
        "apiVersion", f"{_quote(written_version)} has no kind {kind}", f"write apiVersion: {right}"
    )


def _incomplete(written_version: object, written_kind: object) -> Recognized:
    """A document without apiVersion or kind: ours if the other one is ours."""
    if isinstance(written_kind, str) and (kind := _KINDS.get(written_kind)) is not None:
        fault = "has no apiVersion" if written_version is None else "has an apiVersion that is not text"
        return NearMiss("apiVersion", f"this {kind} {fault}", f"write apiVersion: {api_version(kind)}")
    if isinstance(written_version, str) and written_version.lower() in _API_VERSIONS:
        group = written_version.lower().partition(".")[0]
        kinds = ", ".join(kind for kind in Kind if GROUPS[kind] == group)
        fault = "has no kind" if written_kind is None else "has a kind that is not text"
        return NearMiss("kind", f"this document of {written_version} {fault}", f"write one of: {kinds}")
    return Foreign("the document has no apiVersion and kind")


def _misspelled_key(body: Mapping[object, object]) -> NearMiss | None:
    """A key like `apiversion` whose value is one that only our documents have."""
    for right in ("apiVersion", "kind"):
        if right in body:
            continue
        for key, value in body.items():
            if isinstance(key, str) and key != right and nearest(key, (right,)) and _is_known(right, value):
                return NearMiss(right, f"there is no field {_quote(key)}", f"did you mean {right}?")
    return None


def _is_known(field: str, value: object) -> bool:
    """Whether a value of `apiVersion` or `kind` is one of ours."""
    if not isinstance(value, str):
        return False
    return value.lower() in _API_VERSIONS if field == "apiVersion" else value in _KINDS


def _foreign(written_version: str, written_kind: str) -> Foreign:
    return Foreign(f"{_short(written_kind)} of {_short(written_version)} is not a kind of gitvirt")


def _quote(text: str) -> str:
    return f"'{_short(text)}'"


def _short(text: str) -> str:
    return printable(text if len(text) <= 64 else f"{text[:61]}...", 64)
