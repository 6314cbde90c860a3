"""XML built from elements, never from pasted text: a value of a spec stays the text or the attribute that it was put in as.

Limits: no schema is checked here. libvirt checks what it is given, and golden files hold what is rendered.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from iri.errors import InvalidArgument

Element = ElementTree.Element
# Characters that XML 1.0 cannot carry, escaped or not.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, text: str | None = None, **attributes: str | int) -> Element:
    """A trailing underscore is dropped from names that Python reserves: `type_="kvm"` and `type="kvm"` are the same."""
    made = ElementTree.Element(tag, {name.rstrip("_"): str(value) for name, value in attributes.items()})
    made.text = text
    return made


def child(parent: Element, tag: str, text: str | None = None, **attributes: str | int) -> Element:
    """Appends a new element to `parent` and returns it."""
    made = element(tag, text, **attributes)
    parent.append(made)
    return made


def attribute(parent: Element, path: str, name: str) -> str:
    """Of the first element at the path; empty without one."""
    found = parent.find(path)
    return found.get(name, "") if found is not None else ""


def text(root: Element) -> str:
    """Raises InvalidArgument for characters that XML cannot carry."""
    for part in root.iter():
        for value in (part.text or "", *part.attrib.values()):
            if UNWRITABLE.search(value):
                raise InvalidArgument(f"<{part.tag}> contains characters that XML cannot carry")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def parse(document: str) -> Element:
    """Only for documents that libvirt itself wrote."""
    return ElementTree.fromstring(document)  # noqa: S314
