"""One document against its kind: the findings, their hints, and that nothing whatever makes it crash."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from reconciler.cli.codes import CODES
from schemas.kinds import Kind
from schemas.manifest.schema_check import violations
from schemas.manifest.schema_file import load_schema
from schemas.manifest.value_rules import check_values
from tests.schemas.manifest.check_cases import MACHINE, SECRET, TABLE, machine, machine_class
from tests.schemas.manifest.mutations import documents, mutate
from tests.schemas.samples import SAMPLES, load


def kind_of(body: dict[str, Any], name: str) -> Kind:
    return Kind.MACHINE if name == "other kind" else Kind(body["kind"])


@pytest.mark.parametrize("name", TABLE)
def test_a_document_has_exactly_the_listed_findings(name: str) -> None:
    body, wanted = TABLE[name]
    found = violations(kind_of(body, name), body)
    assert sorted((violation.pointer, violation.code) for violation in found) == sorted(
        want[:2] for want in wanted
    )
    for pointer, code, hint in wanted:
        hints = [
            violation.hint for violation in found if (violation.pointer, violation.code) == (pointer, code)
        ]
        assert any(hint in given for given in hints), hints


def test_every_code_of_a_check_is_provoked() -> None:
    provoked = {code for _, wanted in TABLE.values() for _, code, _ in wanted}
    assert provoked == {code for code in CODES if "GV200" < code < "GV220"}


@pytest.mark.parametrize("name", SAMPLES)
def test_published_manifests_have_no_findings(name: str) -> None:
    body: Any = load(SAMPLES[name])
    assert violations(Kind(body["kind"]), body) == ()


KEYWORDS_EXPLAINED = {
    *(
        "type",
        "required",
        "additionalProperties",
        "properties",
        "propertyNames",
        "items",
        "uniqueItems",
        "enum",
        "const",
    ),
    *(
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "maxItems",
        "oneOf",
        "dependentRequired",
    ),
    *("dependentSchemas", "$ref", "$defs", "$schema", "$id"),
    *("title", "description", "default", "deprecated", "format"),
}


@pytest.mark.parametrize("kind", Kind)
def test_every_keyword_of_the_schemas_has_an_explanation(kind: Kind) -> None:
    used: set[str] = set()

    def visit(rule: object, names: bool = False) -> None:
        if not isinstance(rule, dict):
            return
        if not names:
            used.update(rule)
        for key, inner in rule.items():
            if isinstance(inner, list):
                for each in inner:
                    visit(each)
            elif names or key not in ("const", "default", "dependentRequired"):
                visit(inner, key in ("properties", "$defs", "dependentSchemas") and not names)

    visit(load_schema(kind.schema_file))
    assert used <= KEYWORDS_EXPLAINED


REFERENCE = {kind: jsonschema.Draft202012Validator(load_schema(kind.schema_file)) for kind in Kind}


@settings(max_examples=200, deadline=None)
@given(mutate())
def test_the_check_agrees_with_the_reference_validator(case: tuple[Kind, Any]) -> None:
    kind, body = case
    assert bool(violations(kind, body)) == (
        not REFERENCE[kind].is_valid(body) or bool(check_values(kind, body))
    )


@settings(max_examples=200, deadline=None)
@given(mutate(is_hostile=True))
def test_no_value_makes_the_check_raise(case: tuple[Kind, Any]) -> None:
    kind, body = case
    for violation in violations(kind, body):
        assert violation.code in CODES
        assert violation.message
        assert violation.message.isprintable()
        assert violation.hint.isprintable()
        assert len(violation.message) < 400


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("body", [None, 5, "text", [], {}, {1: 2}, b"x", float("nan"), (1,)], ids=repr)
def test_a_document_that_is_not_an_object_has_findings(kind: Kind, body: object) -> None:
    assert violations(kind, body)


def test_deep_and_large_documents_are_checked_in_bounded_time() -> None:
    abyss = machine()
    deeper = abyss["spec"]
    for _ in range(100_000):
        deeper["machineClassRef"] = {}
        deeper = deeper["machineClassRef"]
    assert {violation.code for violation in violations(Kind.MACHINE, abyss)} == {"GV201", "GV213"}
    flood = machine(volumes=[{"surplus": 1}] * 200_000)
    found = violations(Kind.MACHINE, flood)
    assert len(found) < 1_100
    assert "GV213" in {violation.code for violation in found}


def test_no_finding_quotes_a_value_of_a_secret() -> None:
    hidden = ["hunter2!", 271828, "correct horse", 3.14159, True]
    for field in ("data", "stringData", "type", "immutable", "sops", "metadata", "surplus"):
        for value in hidden:
            for body in ({**SECRET, field: value}, {**SECRET, field: {"password": value}}):
                quote = repr(violations(Kind.SECRET, body))
                assert str(value) not in quote or isinstance(value, bool)


def test_the_check_does_not_change_the_document() -> None:
    for kind, sample in documents():
        body = {**sample, "surplus": {"deep": [1]}}
        before = json.dumps(body)
        assert violations(kind, body)
        assert json.dumps(body) == before


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (MACHINE | {"metadata": {"name": "web", "labels": {"a": 1}}}, "labels.a must be text, not a number"),
        (MACHINE | {"metadata": {"name": "web", "annotations": {"a": None}}}, "annotations.a is empty"),
        (machine(machinePoolSelector={"zone": "x y"}), "machinePoolSelector.zone cannot be 'x y'"),
        (machine(priority="10"), "priority must be a whole number, not text"),
    ],
)
def test_a_key_that_people_chose_is_named_with_its_field(body: dict[str, Any], want: str) -> None:
    assert [violation.message for violation in violations(Kind.MACHINE, body)] == [want]


def test_messages_are_not_those_of_the_validator() -> None:
    quote = [
        f"{violation.message} {violation.hint}"
        for body, _ in TABLE.values()
        for violation in violations(kind_of(body, ""), body)
    ]
    assert not [
        text for text in quote if re.search(r"is not of type|does not match|required property|[\\^$]\[", text)
    ]


def test_no_finding_contains_control_characters() -> None:
    body = machine_class(cpu="\x1b[31m", memory="\u202e16Gi", **{"\x07": "x"})
    for violation in violations(Kind.MACHINE_CLASS, body):
        assert (violation.message + violation.hint).isprintable()
