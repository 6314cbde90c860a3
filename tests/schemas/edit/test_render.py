"""What is written reads back as what was meant, by our reader, by ruamel.yaml and by readers of YAML 1.1."""

from __future__ import annotations

from typing import Any

import pytest
import yaml as yaml11
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from schemas.edit import Edited, EditRefused, Field, Means, UnwritableError, Value, edit, render
from schemas.edit.verification import is_same_value
from schemas.reader import read

Body = dict[str, Value]

# What some reader takes for a number, a date, a boolean, null or markup, and similar texts that no reader does.
MISREAD = [
    "y",
    "Y",
    "yes",
    "Yes",
    "YES",
    "n",
    "N",
    "no",
    "on",
    "On",
    "ON",
    "off",
    "OFF",
    "true",
    "True",
    "TRUE",
    "false",
    "null",
    "Null",
    "NULL",
    "~",
    "None",
    "nil",
    "nan",
    ".nan",
    ".NaN",
    "inf",
    ".inf",
    "-.INF",
    "+.inf",
    "0",
    "1",
    "-1",
    "+1",
    "00",
    "007",
    "010",
    "0o10",
    "0x1F",
    "0b11",
    "1_000",
    "1,000",
    "1.0",
    "1.",
    ".5",
    "-.5",
    "1e3",
    "1E3",
    "1e+3",
    "1.5e-3",
    "0.0",
    "-0",
    "12:30",
    "12:30:45",
    "1:2.5",
    "190:20:30",
    "2030-01-01",
    "2030-1-1",
    "2030-01-01T00:00:00Z",
    "2030-01-01",
    "00:00:00",
    "=",
    "<<",
    "-",
    "--",
    "---",
    "...",
    "?",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    "#",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    '"',
    "%",
    "@",
    "`",
    "-a",
    "?a",
    ":a",
    "a:",
    "a:b",
    "::",
    "a::b",
    "#a",
    "a#b",
    "a#",
    "&a",
    "*a",
    "!a",
    "|a",
    ">a",
    "%a",
    "@a",
    "`a",
    ",a",
    "a,",
    "[a",
    "{a",
    "}a",
    "]a",
    '"a',
    "'a",
    "it's",
    "=a",
    "a=b",
    "<<a",
    ".a",
    "..a",
    "....a",
    "---a",
    "10.0.0.1",
    "10.0.0.0/24",
    "fe80::1",
    "52:54:00:12:34:56",
    "aa:bb:cc:dd:ee:ff",
    "12345678-1234-5678-1234-567812345678",
    "1e345678-1234-5678-1234-567812345678",
    "libvirt://3f0e",
    "http://x/?a=b&c=d#e",
    "16Gi",
    "500m",
    "1k",
    "+5Mi",
    "a/b/c",
    "a\\b",
    "C:\\x",
    "~/x",
    "~x",
    "x~",
    "!",
    "!!",
    "!!str",
    "0xg",
    "1e",
    "1e+",
    "0b2",
    "0o8",
    "_1",
    "1_",
    "__",
    "1__0",
]
SPACED = (
    "",
    " ",
    "  ",
    "a ",
    " a",
    "a  b",
    "a b",
    "a: b",
    "a :b",
    "a #b",
    "a# b",
    "- a",
    "? a",
    "a -b",
    "a - b",
    "key: [x",
    "\t",
    "a\tb",
    "\ta",
)
LINES = (
    "\n",
    "a\n",
    "a\nb",
    "a\n\nb\n",
    "a\n\n",
    "\na",
    " a\nb",
    "a\n b",
    "a \nb",
    "a\n\tb",
    "# a\n# b",
    "---\na",
    "a\n---\nb",
    "...\n",
    "a\r\nb",
    "a\rb",
    "- a\n- b",
    "key: |\n  x\n",
)
BEYOND = ("é", "東京", "😀", "\x00", "\x07", "\x1b[31m", "\x7f", "\x80", "\x85", "a\x85b", "\xa0", "\xad", "\u2028", "\u2029", "a\u2029b", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\u202e", "\u200b", "\U0001f469\u200d\U0001f4bb", "\U0010ffff", "é\nü")  # fmt: skip
TEXTS = (*MISREAD, *SPACED, *LINES, *BEYOND, "x" * 5000, "ab " * 2000, "=" * 2000)


def readings(text: str) -> list[Any]:
    found = read(text)
    assert isinstance(found, tuple), (text, found)
    return [found[0], YAML(typ="safe", pure=True).load(text), yaml11.load(text, yaml11.CSafeLoader)]


FORMS = ["a: b", '{"a": "b"}', "{a: b}", '{\n  "a": "b"\n}']


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("before", FORMS)
def test_every_text_reads_back_as_a_value(before: str, eol: str) -> None:
    status: Body = {str(at): [text, {"again": text}] for at, text in enumerate(TEXTS)}
    outcome = edit((before + eol).encode(), 0, {Field.STATUS: status})
    assert isinstance(outcome, Edited), outcome
    assert outcome.means is Means.LINES
    for reading in readings(outcome.data.decode()):
        assert reading["status"] == status


@pytest.mark.parametrize("before", FORMS)
def test_every_text_reads_back_as_a_key(before: str) -> None:
    status: Body = {text: at for at, text in enumerate(TEXTS) if len(text) < 1000 and text != "<<"}
    outcome = edit(before.encode(), 0, {Field.STATUS: status})
    assert isinstance(outcome, Edited), outcome
    for reading in readings(outcome.data.decode()):
        assert reading["status"] == status


@given(st.text())
def test_any_text_reads_back(text: str) -> None:
    body: Body = {"text": text, "list": [text], text[:100]: "key"}
    for reading in readings(render(body).decode()):
        assert reading == body


numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.none())
keys = st.text(max_size=8).filter(lambda key: key != "<<")
values = st.recursive(
    st.one_of(numbers, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
)


@given(st.dictionaries(keys, values, max_size=4))
def test_any_body_reads_back(body: Body) -> None:
    text = render(body).decode()
    documents = read(text)
    assert isinstance(documents, tuple)
    assert is_same_value(documents[0], body)
    assert text.endswith("\n")


def test_a_new_document_has_the_style_of_gitvirt() -> None:
    body: Body = {
        "status": {},
        "spec": {
            "volumeClassRef": {"name": "fast"},
            "resources": {"storage": "10Gi"},
            "tolerations": [{"key": "lab", "operator": "Exists"}, {"key": "gpu"}],
            "ips": [],
            "text": "one\ntwo\n",
            "matrix": [[1, 2], ["a"]],
        },
        "kind": "Volume",
        "metadata": {"name": "web-1-root", "ownerReferences": [{"kind": "Machine", "controller": True}]},
        "apiVersion": "storage.ironcore.dev/v1alpha1",
    }
    assert render(body).decode() == (
        """\
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata:
  name: web-1-root
  ownerReferences:
    - kind: Machine
      controller: true
spec:
  volumeClassRef:
    name: fast
  resources:
    storage: 10Gi
  tolerations:
    - key: lab
      operator: Exists
    - key: gpu
  ips: []
  text: |
    one
    two
  matrix:
    -
      - 1
      - 2
    -
      - a
status: {}
"""
    )


def test_a_text_without_ambiguity_is_not_quoted() -> None:
    plain = ("web-1", "libvirt://3f0e", "10.0.0.1", "10.0.0.0/24", "16Gi", "500m", "no pool fits", "a,b", "x-y.z/w",
             "12345678-1234-5678-1234-567812345678", "1e345678-1234-5678-1234-567812345678", "(none)", "a=b", "1 of 3 pools fit")  # fmt: skip
    for text in plain:
        assert render({"a": text}).decode() == f"a: {text}\n"


DEEP: Value = "x"
for _ in range(90):
    DEEP = [DEEP]

UNWRITABLE = {
    "half a character": "a\ud800b",
    "half a character in a key": {"\udfff": 1},
    "half a character in lines": "a\nb\ud800\n",
    "a merge": {"<<": {}},
    "an object": object(),
    "bytes": b"x",
    "a number as key": {1: 2},
    "too deep": DEEP,
    "too long a number": 10**5000,
}


@pytest.mark.parametrize("before", ["spec: {}\n", '{"spec": {}}\n', "spec: {}\nstatus: 'x'\n"])
@pytest.mark.parametrize("what", UNWRITABLE)
def test_a_value_that_cannot_be_written_is_refused(what: str, before: str) -> None:
    value: Any = UNWRITABLE[what]
    outcome = edit(before.encode(), 0, {Field.STATUS: value})
    assert isinstance(outcome, EditRefused)
    assert outcome.problem.code == "GV705"
    with pytest.raises(UnwritableError):
        render({"status": value})


def test_infinity_in_json_is_refused() -> None:
    outcome = edit(b'{"a": 1}', 0, {Field.STATUS: {"load": float("inf")}})
    assert isinstance(outcome, EditRefused)
    assert outcome.problem.code == "GV705"
    assert isinstance(edit(b"{a: 1}", 0, {Field.STATUS: {"load": float("inf")}}), Edited)
