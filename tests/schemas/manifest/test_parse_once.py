"""Files that are parsed once for a whole verb: the same answers, and nothing kept afterwards."""

from __future__ import annotations

import pytest

from schemas.manifest import count_kept, documents, parse, parse_once
from schemas.manifest.parse_once import MOST

CLASS = b"""\
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: small}
capabilities: {cpu: 2, memory: 4Gi}
"""
TEXTS = {"good": CLASS, "malformed": b"kind: [\n", "empty": b"", "not UTF-8": b"\xff"}


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_a_kept_manifest_is_the_one_that_parsing_gives(data: bytes) -> None:
    with parse_once():
        first = parse("a.yaml", data)
        assert parse("a.yaml", data) is first
        assert count_kept() == 1
    assert first == documents.parse("a.yaml", data) == parse("a.yaml", data)
    assert count_kept() == 0


def test_another_path_and_other_bytes_are_parsed_by_themselves() -> None:
    with parse_once():
        found = [parse("a.yaml", CLASS), parse("b.yaml", CLASS), parse("a.yaml", CLASS + b"# more\n")]
        assert [each.documents[0].path for each in found] == ["a.yaml", "b.yaml", "a.yaml"]
        assert count_kept() == 3


def test_one_within_another_keeps_with_the_outer_one() -> None:
    with parse_once():
        with parse_once():
            found = parse("a.yaml", CLASS)
        assert parse("a.yaml", CLASS) is found


def test_memory_is_bounded() -> None:
    with parse_once():
        for number in range(MOST + 2):
            parse(f"{number}.yaml", b"")
        assert count_kept() == MOST
        assert parse("9999999.yaml", CLASS).documents[0].path == "9999999.yaml"
