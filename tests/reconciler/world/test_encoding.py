"""A reading that is kept comes back as it was, to the notation of its amounts, and of a Secret nothing is kept."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.world.source.contents import Contents, live_contents, source_contents
from reconciler.world.source.parse_cache.encoding import decode, encode
from schemas.kinds import Kind
from schemas.model.quantity import Quantity, parse
from schemas.validate import ValidationPolicy
from tests.reconciler.world.scene import SMALL, assignment_record, machine, volume, with_record
from tests.reconciler.world.test_laws import IDS, UIDS, documents

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").rglob("*.yaml"))
RICH = machine(
    "web-1",
    "  tolerations:\n    - {key: a, operator: Exists, tolerationSeconds: 30}\n"
    "  volumes:\n    - name: scratch\n      ephemeral:\n        volumeTemplate:\n"
    "          spec: {volumeClassRef: {name: fast}, resources: {storage: 0.5Gi}}\n",
    "  namespace: team\n  labels: {app: web}\n  annotations: {note: 'ä\\n🦆'}\n",
)
POOL = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {name: a}\n"
    "spec:\n  overcommit: {cpu: 1.3, memory: 1}\n"
    "status:\n  capacity: {cpu: 1500m, memory: 0.5Ki, storage: 2e9, other: 12Gi}\n"
)


def exactly(value: object) -> object:
    """With what equality does not look at."""
    return msgspec.to_builtins(
        value, enc_hook=lambda each: (str(each), getattr(each, "notation", None) and each.notation.value)
    )


def back(path: str, contents: Contents) -> None:
    data = encode(contents)
    assert data is not None
    found = decode(path, data)
    assert found == contents
    assert exactly(found) == exactly(contents)


@given(documents, st.booleans(), st.booleans())
def test_what_is_kept_comes_back(text: str, is_wanted: bool, is_open: bool) -> None:
    for found in (
        source_contents("a.yaml", text.encode(), ValidationPolicy(is_open)),
        live_contents("a.yaml", text.encode(), lambda *_: is_wanted),
    ):
        if encode(found) is not None:
            back("a.yaml", found)


@pytest.mark.parametrize("text", [RICH, POOL, SMALL, f"{RICH}---\n{POOL}---\n{volume('data')}"])
@pytest.mark.parametrize("is_wanted", [True, False])
def test_amounts_come_back_as_they_were_written(text: str, is_wanted: bool) -> None:
    back("a.yaml", source_contents("a.yaml", text.encode(), ValidationPolicy()))
    back("b.yaml", live_contents("b.yaml", text.encode(), lambda *_: is_wanted))


@pytest.mark.parametrize("is_wanted", [True, False])
def test_records_come_back(is_wanted: bool) -> None:
    for kind, text in ((Kind.MACHINE, RICH), (Kind.VOLUME, volume("data"))):
        written = with_record(text, kind, assignment_record("pool-a", IDS[0], UIDS[0], kind))
        found = live_contents("a.yaml", written.encode(), lambda *_: is_wanted)
        assert [doc.record.pool for doc in found.docs if doc.record] == ["pool-a"]
        back("a.yaml", found)


def test_every_example_comes_back() -> None:
    kept = 0
    for path in EXAMPLES:
        for found in (
            source_contents(path.name, path.read_bytes(), ValidationPolicy()),
            live_contents(path.name, path.read_bytes(), lambda *_: True),
        ):
            if encode(found) is not None:
                back(path.name, found)
                kept += 1
    assert kept > len(EXAMPLES)


@given(st.integers(-(10**27), 10**27), st.sampled_from(["", "m", "Ki", "Gi", "e3", "k"]))
def test_an_amount_comes_back(number: int, suffix: str) -> None:
    try:
        amount: Quantity = parse(f"{number}{suffix}")
    except ValueError:
        return
    text = f"{POOL.partition('status')[0]}status:\n  capacity: {{cpu: '{amount}'}}\n"
    found = live_contents("a.yaml", text.encode(), lambda *_: False)
    if found.docs:
        back("a.yaml", found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: hunter2}\n"),
        (
            "a Secret beside another",
            f"{RICH}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{a: hunter2}}\n",
        ),
        ("malformed", "a: ["),
        ("empty", "# nothing\n"),
        ("others'", "apiVersion: v2\nkind: Chart\nmetadata: {name: web-1}\n"),
        ("with a finding", RICH.replace("operator: Exists", "operator: Exists, value: x")),
    ],
)
def test_nothing_else_is_kept(name: str, text: str) -> None:
    assert encode(source_contents(name, text.encode(), ValidationPolicy())) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc1", id="no such byte"),
        pytest.param(msgspec.msgpack.encode([["Machine", 0, None, None]]), id="too few"),
        pytest.param(msgspec.msgpack.encode([["Secret", 0, ["a", "b"], None, None]]), id="of another kind"),
        pytest.param(msgspec.msgpack.encode({"a": 1}), id="something else"),
    ],
)
def test_what_was_not_written_so_is_read_again(data: bytes) -> None:
    assert decode("a.yaml", data) is None
