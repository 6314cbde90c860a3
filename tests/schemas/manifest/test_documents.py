"""Files into documents: identity, findings with their places, and what a malformed file is."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cli.codes import CODES
from schemas.kinds import Key, Kind
from schemas.manifest import MAX_BYTES, Manifest, parse, too_large
from schemas.problem import Severity
from tests.schemas.reader.yaml_texts import Written, write

NETWORK = """\
apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata:
  name: lan
"""
CLASS = """\
apiVersion: compute.OpenKCM.dev/v1alpha1
kind: MachineClass
metadata:
  name: small
capabilities: {cpu: 4, memory: 16Gi}
"""
FOREIGN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
LAN = Key(Kind.NETWORK, "default", "lan")


def manifest(text: str | bytes) -> Manifest:
    found = parse("a/b.yaml", text.encode() if isinstance(text, str) else text)
    assert found.path == "a/b.yaml"
    for problem in found.problems:
        assert problem.file == "a/b.yaml"
        assert problem.code in CODES
        assert (problem.message + problem.hint).isprintable()
    assert found.is_malformed == any(problem.severity is Severity.ERROR for problem in found.problems)
    return found


def test_a_document_keeps_what_was_written() -> None:
    (document,) = manifest(CLASS).documents
    assert (document.path, document.index, document.kind) == ("a/b.yaml", 0, Kind.MACHINE_CLASS)
    assert document.key == Key(Kind.MACHINE_CLASS, "", "small")
    assert document.api_version == "compute.OpenKCM.dev/v1alpha1"
    assert document.body["capabilities"] == {"cpu": 4, "memory": "16Gi"}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", []),
        ("# nothing\n", []),
        ("---\n---\n", []),
        (NETWORK, [(0, LAN)]),
        (f"---\n{NETWORK}---\n---\n{CLASS}...\n", [(0, LAN), (2, Key(Kind.MACHINE_CLASS, "", "small"))]),
        (NETWORK + "  namespace: site\n", [(0, Key(Kind.NETWORK, "site", "lan"))]),
        (f"\ufeff{NETWORK}".replace("\n", "\r\n"), [(0, LAN)]),
        (
            '{"apiVersion":"networking.ironcore.dev/v1alpha1","kind":"Network","metadata":{"name":"lan"}}',
            [(0, LAN)],
        ),
        ("x: &m {name: lan}\n---\n" + NETWORK, [(1, LAN)]),
    ],
)
def test_each_document_has_its_identity(text: str, keys: list[tuple[int, Key]]) -> None:
    found = manifest(text)
    assert [(document.index, document.key) for document in found.documents] == keys
    assert not found.is_malformed


@pytest.mark.parametrize(
    ("text", "code", "place", "pointer", "quote"),
    [
        # reading
        (NETWORK + "spec: a: b\n", "GV101", (5, 8), "", "': '"),
        (NETWORK + "kind: Network\n", "GV102", (5, 1), "", "'kind'"),
        # the schema
        (NETWORK + "spec:\n  providerId: x\n", "GV201", (6, 3), "/spec/providerId", "providerId"),
        (
            NETWORK.replace("  name: lan", "  labels: {a: 1}\n  name: lan"),
            "GV203",
            (4, 15),
            "/metadata/labels/a",
            "",
        ),
        (NETWORK.replace("  name: lan", "  name: Lan"), "GV205", (4, 9), "/metadata/name", ""),
        (NETWORK.replace("  name: lan", '  name: "a\\nb"'), "GV205", (4, 9), "/metadata/name", ""),
        (NETWORK.replace("  name: lan", "  labels: {}"), "GV202", (3, 1), "/metadata", "name"),
        (NETWORK.replace("  name: lan", "  name: 1_000"), "GV205", (4, 9), "/metadata/name", "1_000"),
        (NETWORK.replace("  name: lan", "  name: 010"), "GV203", (4, 9), "/metadata/name", ""),
        (NETWORK + "  namespace: A\n", "GV205", (5, 14), "/metadata/namespace", ""),
        (CLASS.replace("16Gi", "16GB"), "GV206", (5, 32), "/capabilities/memory", "16GB"),
        (CLASS.replace("16Gi", ".nan"), "GV206", (5, 32), "/capabilities/memory", ""),
        (CLASS.replace("16Gi", "NaN"), "GV206", (5, 32), "/capabilities/memory", ""),
        (CLASS.replace("cpu: 4", "cpu: " + "9" * 40), "GV206", (5, 21), "/capabilities/cpu", ""),
        (CLASS.replace("cpu: 4", "cpu: 4, 5: 1"), "GV213", (5, 15), "/capabilities", "key"),
        # near misses
        (NETWORK.replace("Network", "Netwrok"), "GV220", (2, 7), "/kind", "Netwrok"),
        (NETWORK.replace("kind: Network\n", ""), "GV220", (1, 1), "/kind", "no kind"),
        (NETWORK.replace("v1alpha1", "v1beta1"), "GV220", (1, 13), "/apiVersion", "v1beta1"),
        ("metadata:\n  name: lan\nspec: {}\n", "GV220", (1, 1), "/metadata", "neither apiVersion nor kind"),
        # lists
        (
            "apiVersion: v1\nkind: List\nitems:\n- " + NETWORK.replace("\n", "\n  ").rstrip() + "\n",
            "GV113",
            (3, 1),
            "/items",
            "List",
        ),
        (
            "apiVersion: networking.ironcore.dev/v1alpha1\nkind: NetworkList\nitems: []\n",
            "GV113",
            (3, 8),
            "/items",
            "NetworkList",
        ),
    ],
)
def test_each_problem_has_its_line_and_column(
    text: str, code: str, place: tuple[int, int], pointer: str, quote: str
) -> None:
    found = manifest(text)
    assert found.is_malformed
    assert not found.documents
    problem = found.problems[0]
    assert (problem.code, (problem.line, problem.column), problem.pointer) == (code, place, pointer)
    assert quote in problem.message
    assert problem.hint or code == "GV206"


def test_all_problems_are_reported_together_with_the_valid_documents() -> None:
    bad = CLASS.replace("16Gi", "16GB").replace("cpu: 4", "cpu: -1")
    found = manifest(f"{NETWORK}---\n{bad}---\n{FOREIGN}---\n{NETWORK.replace('lan', 'Lan')}")
    assert [problem.code for problem in found.problems] == ["GV207", "GV206", "GV221", "GV205"]
    assert [problem.line for problem in found.problems] == [10, 10, 12, 19]
    assert [document.key for document in found.documents] == [LAN]
    assert found.invalid == (Key(Kind.MACHINE_CLASS, "", "small"), Key(Kind.NETWORK, "default", "Lan"))
    assert [problem.object for problem in found.problems] == ["MachineClass/small"] * 2 + [
        "",
        "Network/default/Lan",
    ]
    assert found.is_malformed


@pytest.mark.parametrize(
    "text",
    [
        FOREIGN,
        "apiVersion: a\tb/v1\nkind: X\u202eY\n",
        "- a\n- b\n",
        "just text\n",
        "8080: a\n? [b]\n: c\n",
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}]\n",
        "version: '3'\nservices: {web: {ports: ['80:80']}}\n",
    ],
)
def test_foreign_documents_are_skipped_with_a_notice(text: str) -> None:
    found = manifest(text)
    assert (found.foreign, found.documents, found.is_malformed) == (1, (), False)
    (problem,) = found.problems
    assert (problem.code, problem.severity) == ("GV221", Severity.NOTICE)


def test_a_kind_that_only_ironcore_has_is_skipped_with_a_warning_that_names_it() -> None:
    found = manifest("apiVersion: storage.ironcore.dev/v1alpha1\nkind: Bucket\nmetadata: {name: x}\n")
    assert (found.foreign, found.documents, found.is_malformed) == (1, (), False)
    (problem,) = found.problems
    assert (problem.code, problem.severity) == ("GV222", Severity.WARNING)
    assert "Bucket" in problem.message


def test_a_file_with_an_unknown_kind_of_ours_is_malformed_as_a_whole() -> None:
    found = manifest(NETWORK + "---\napiVersion: compute.ironcore.dev/v1alpha1\nkind: VirtualMachine\n")
    assert found.is_malformed
    assert [(problem.code, problem.line) for problem in found.problems] == [("GV220", 7)]


@pytest.mark.parametrize(
    ("data", "code", "quote", "place"),
    [
        (NETWORK.encode("utf-16"), "GV106", "UTF-16", (1, 1)),
        (NETWORK.encode("utf-16-le"), "GV106", "UTF-16", (1, 1)),
        (NETWORK.encode("utf-16-be"), "GV106", "UTF-16", (1, 1)),
        (NETWORK.encode("utf-32"), "GV106", "UTF-32", (1, 1)),
        (NETWORK.encode("utf-32-be"), "GV107", "binary", (0, 0)),
        (b"a: 1\r\nb: \xe9t\xe9\r\n", "GV106", "0xE9", (2, 4)),
        ("a: é".encode() + b"\xff", "GV106", "0xFF", (1, 5)),
        (b"a: \xed\xa0\x80", "GV106", "0xED", (1, 4)),
        (b"a: \xc0\x80", "GV106", "0xC0", (1, 4)),
        (gzip.compress(NETWORK.encode() * 9, mtime=0), "GV107", "binary", (0, 0)),
        (b"\x7fELF\x02\x01\x01\0\0", "GV107", "binary", (0, 0)),
        (NETWORK.encode() + b"\0", "GV107", "binary", (0, 0)),
        (bytes(range(256)), "GV107", "binary", (0, 0)),
    ],
)
def test_a_file_that_is_not_utf8_is_refused(
    data: bytes, code: str, quote: str, place: tuple[int, int]
) -> None:
    found = manifest(data)
    (problem,) = found.problems
    assert (problem.code, (problem.line, problem.column)) == (code, place)
    assert quote in problem.message


def test_a_file_that_is_too_large_is_not_read() -> None:
    found = manifest(b"#" * (MAX_BYTES + 1))
    assert [problem.code for problem in found.problems] == ["GV108"]
    assert too_large("a", MAX_BYTES) is None
    assert too_large("a", 100_000_000) is not None
    assert [problem.code for problem in manifest(b"#" * MAX_BYTES).problems] == ["GV115"]


FIELDS = st.sampled_from(["apiVersion", "kind", "metadata", "spec", "items", "status", "name", "namespace"])
WORDS = st.sampled_from(
    ["v1", "networking.ironcore.dev/v1alpha1", "Network", "Secret", "MachineClass", "List", "lan"]
)
LEAVES = WORDS | st.none() | st.integers() | st.floats() | st.text(max_size=5)
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6),
    max_leaves=15,
)


@given(write(BODIES))  # type: ignore[arg-type]  # JSON-like values are Values
@settings(max_examples=150)
def test_any_document_is_accepted_or_has_problems(given_text: Written) -> None:
    found = manifest(given_text.text)
    taken = {document.index for document in found.documents}
    assert len(taken) + found.foreign <= len(given_text.documents)
    if not found.problems:
        assert len(taken) == sum(document is not None for document in given_text.documents)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(max_examples=300)
def test_any_bytes_are_accepted_or_have_problems(data: bytes) -> None:
    manifest(data)


@given(st.data())
@settings(max_examples=150)
def test_any_damaged_manifest_is_accepted_or_has_problems(data: st.DataObject) -> None:
    octets = bytearray((NETWORK + "---\n" + CLASS).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(octets)))
        octets[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    manifest(bytes(octets))
