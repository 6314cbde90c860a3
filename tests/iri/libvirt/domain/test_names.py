"""Names for libvirt and QEMU, and the way back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.libvirt.domain.names import NAME_LABEL, Alias, choose_target, domain_name, parse_alias


@given(st.sampled_from(["disk", "nic"]), st.text(min_size=1))
def test_alias_carries_any_name_there_and_back(kind: str, name: str) -> None:
    alias = Alias(kind, name, "0123abcd")
    assert re.fullmatch(r"ua-[A-Za-z0-9_-]+", str(alias))
    assert parse_alias(str(alias)) == alias


@pytest.mark.parametrize(
    "text", ["", "ua-disk-root", "virtio-disk0", "ua-tape-a-0123abcd", "ua-disk-a-0123ABCD"]
)
def test_foreign_aliases_are_not_parsed(text: str) -> None:
    assert parse_alias(text) is None


@pytest.mark.parametrize(
    ("device", "taken", "want"),
    [
        ("oda", (), "vda"),
        ("odab", (), "vdab"),
        ("sdb", (), "vdb"),
        ("oda", ("vda",), "vdzz"),
        ("nvme0", (), "vdzz"),
        ("nvme0", ("vdzz", "vdzy"), "vdzx"),
        ("", (), "vdzz"),
    ],
)
def test_target_follows_the_name_of_the_device(device: str, taken: tuple[str, ...], want: str) -> None:
    assert choose_target(device, taken) == want


@pytest.mark.parametrize(
    ("label", "want"),
    [
        ("web-1", "web-1-ID"),
        ("", "machine-ID"),
        ("../../etc/passwd", "etc-passwd-ID"),
        ("a\nb<c>", "a-b-c-ID"),
        ("ä", "machine-ID"),
        ("x" * 99, "x" * 40 + "-ID"),
    ],
)
def test_domain_name(label: str, want: str) -> None:
    assert domain_name("ID", {NAME_LABEL: label}) == want
