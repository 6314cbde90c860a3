"""No text of a spec can become structure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt.xml import UNWRITABLE, child, element, parse, text

WRITABLE = st.text().filter(lambda value: not UNWRITABLE.search(value) and "\r" not in value)


@given(WRITABLE, WRITABLE)
def test_text_survives_a_round_trip(value: str, attribute: str) -> None:
    root = element("a", key=attribute)
    child(root, "b", value)
    again = parse(text(root))
    assert again.attrib == {"key": attribute}
    assert [(part.tag, part.text or "") for part in again] == [("b", value)]


@pytest.mark.parametrize("value", ["\x00", "a\x1bb", "\ud800", "\uffff"])
def test_characters_that_xml_cannot_carry_are_refused(value: str) -> None:
    root = element("a")
    child(root, "b", value)
    with pytest.raises(InvalidArgument, match="<b>"):
        text(root)
    with pytest.raises(InvalidArgument, match="<a>"):
        text(element("a", key=value))
