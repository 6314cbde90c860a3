"""Each identity belongs to one object, and each name to one owner, including the objects of ephemeral entries.

An identity is kind, namespace and name; the path of a file is not part of it. Ephemeral entries count because the
reconciler writes their objects under `<machine>-<entry>`. If a person declared an object of that name, two documents would
be one object, and removing the machine could remove what the person declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemas.kinds import Kind
from schemas.model import NetworkInterfaceSpec, VolumeSpec
from schemas.validate.finding import Finding
from schemas.validate.tree import AnyDeclaration, Name, SpecSource, Tree

LONGEST_NAME = 63


def findings(tree: Tree) -> Iterator[Finding]:
    """GV301 to GV303."""
    for entry in tree.duplicates:
        yield from duplicate_finding(tree, entry)
    yield from generated_names(tree, tree.volume_sources, Kind.VOLUME)
    yield from generated_names(tree, tree.interface_sources, Kind.NETWORK_INTERFACE)


def duplicate_finding(tree: Tree, entry: AnyDeclaration) -> Iterator[Finding]:
    """GV301: the same identity in two documents, which also names the first one."""
    first = tree.find(entry.key.kind, entry.key.namespace, entry.key.name)
    if first is not None:
        where = f"document {first.document + 1} of {first.path}" if first.path == entry.path else first.path
        yield entry.finding(
            "GV301",
            "/metadata/name",
            f"{entry.key} is declared twice, also in {where}",
            "remove one of them, or give it another name or namespace",
        )._replace(also=(first.path,))


def generated_names(
    tree: Tree,
    sources: Sequence[SpecSource[VolumeSpec]] | Sequence[SpecSource[NetworkInterfaceSpec]],
    kind: Kind,
) -> Iterator[Finding]:
    """GV302 and GV303: the name <machine>-<entry> is free and not too long."""
    seen: dict[Name, AnyDeclaration] = {}
    for source in sources:
        entry = source.entry
        if entry.key.kind is kind:
            continue  # declared, not generated
        name = (entry.key.namespace, source.name)
        pointer = source.pointer.partition("/ephemeral/")[0] + "/name"
        if len(source.name) > LONGEST_NAME:
            message = (
                f"this entry becomes {kind} {source.name}, whose name has more than {LONGEST_NAME} characters"
            )
            hint = "shorten the name of the machine or of the entry"
            yield entry.finding("GV303", pointer, message, hint)
        taken = tree.by_kind[kind].get(name) or seen.setdefault(name, entry)
        if taken is not entry:
            yield entry.finding(
                "GV302",
                pointer,
                f"this entry becomes {kind} {source.name}, a name that {taken.key} in {taken.path} already has",
                "rename the entry or the other object",
            )._replace(also=(taken.path,))
