"""The JSON Schemas as anybody may use them: valid by the meta-schema, self-contained, described, and strict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
import referencing.jsonschema

from schemas.kinds import Kind, recognize_document
from tests.schemas.samples import SAMPLES, load

FOLDER = Path(__file__).parents[3] / "schemas"
KIND_FILES = {kind: FOLDER / kind.schema_file for kind in Kind}


def schema(kind: Kind) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(KIND_FILES[kind].read_text())
    return loaded


def nodes(node: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, (*path, str(index)))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_each_schema_is_valid_by_its_meta_schema(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("kind", Kind)
def test_each_schema_is_self_contained_and_has_no_unused_definition(kind: Kind) -> None:
    document = schema(kind)
    referred = {node["$ref"] for _, node in nodes(document) if "$ref" in node}
    assert referred == {f"#/$defs/{name}" for name in document["$defs"]}


def test_definitions_of_one_name_are_equal_in_all_schemas() -> None:
    seen: dict[str, tuple[Kind, object]] = {}
    for kind in Kind:
        for name, definition in schema(kind)["$defs"].items():
            other, known = seen.setdefault(name, (kind, definition))
            assert definition == known, f"{name} of {kind} is not that of {other}"


@pytest.mark.parametrize("kind", Kind)
def test_every_property_is_described(kind: Kind) -> None:
    document = schema(kind)
    for path, node in nodes(document):
        if path[-1:] == ("properties",) or "properties" not in node:
            continue
        for name, inner in node["properties"].items():
            if not isinstance(inner, dict) or inner.keys() == {"const"}:
                continue  # a further restriction of a property described elsewhere
            referred = document["$defs"][inner["$ref"].rpartition("/")[2]] if "$ref" in inner else {}
            assert inner.get("description") or referred.get("description"), (*path, name)


@pytest.mark.parametrize("kind", Kind)
def test_unknown_fields_are_allowed_only_in_status(kind: Kind) -> None:
    for path, node in nodes(schema(kind)):
        if (
            "properties" not in node
            or path[-1:] == ("properties",)
            or "$ref" in node
            or "dependentSchemas" in path
        ):
            continue
        if node.get("additionalProperties") is True:
            of_status = {
                "condition",
                "assignment",
                "previousAssignment",
                "evict",
                "undo",
                "rejection",
                "address",
            }
            assert "status" in path or (path[0] == "$defs" and path[1] in of_status), path
        else:
            assert "additionalProperties" in node, path


@pytest.mark.parametrize("name", SAMPLES)
def test_published_manifests_are_valid(name: str) -> None:
    document = load(SAMPLES[name])
    kind = recognize_document(document)
    assert isinstance(kind, Kind)
    errors = [error.message for error in jsonschema.Draft202012Validator(schema(kind)).iter_errors(document)]
    assert errors == []


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_sample(kind: Kind) -> None:
    assert kind in {recognize_document(load(text)) for text in SAMPLES.values()}


def combine() -> jsonschema.Draft202012Validator:
    resources = [
        (path.as_uri(), referencing.Resource.from_contents(json.loads(path.read_text())))
        for path in FOLDER.glob("*.json")
    ]
    registry: referencing.Registry[Any] = referencing.Registry().with_resources(resources)
    entry = {
        "$schema": jsonschema.Draft202012Validator.META_SCHEMA["$id"],
        "$ref": (FOLDER / "gitvirt.json").as_uri(),
    }
    return jsonschema.Draft202012Validator(entry, registry=registry)


def test_the_combined_schema_chooses_by_kind() -> None:
    validator = combine()
    for text in SAMPLES.values():
        document = load(text)
        assert isinstance(document, dict)
        assert validator.is_valid(document)
        assert not validator.is_valid({**document, "surplus": 1})
    assert not validator.is_valid({"apiVersion": "compute.ironcore.dev/v1", "kind": "Machine"})
    assert validator.is_valid({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "surplus": 1})
    assert validator.is_valid({"services": {}})


@pytest.mark.parametrize(
    ("kind", "change", "accepted"),
    [
        (Kind.MACHINE, {"apiVersion": "COMPUTE.ironcore.DEV/v1alpha1"}, True),
        (Kind.MACHINE, {"apiVersion": "compute.ironcore.dev/v1"}, False),
        (Kind.MACHINE, {"status": None}, True),
        (Kind.MACHINE, {"status": {"phase": "of another version"}}, True),
        (Kind.MACHINE, {"metadata": {"name": "a.b"}}, False),
        (Kind.MACHINE_CLASS, {"metadata": {"name": "a.b"}}, True),
        (Kind.MACHINE_CLASS, {"metadata": {"name": "a", "namespace": "n"}}, False),
        (Kind.VOLUME, {"metadata": {"name": "a", "namespace": "n"}}, True),
        (Kind.VOLUME, {"metadata": {"name": "a", "labels": {"a": 1}}}, False),
        (Kind.VOLUME, {"metadata": {"name": "a", "labels": None, "annotations": None}}, True),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": 0, "memory": "1Gi"}}, False),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": "0.0", "memory": "1Gi"}}, False),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": "0.5", "memory": "1.5Gi"}}, True),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": ".5", "memory": "1e9"}}, True),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": 1, "memory": "16GB"}}, False),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": 1, "memory": -1}}, False),
        (Kind.MACHINE_CLASS, {"capabilities": {"cpu": 1, "memory": 1, "gpu": 0}}, True),
        (Kind.MACHINE_POOL, {"spec": {"overcommit": {"cpu": "4", "memory": 1.5}}}, True),
        (Kind.MACHINE_POOL, {"spec": {"overcommit": {"cpu": "0"}}}, False),
        (Kind.VOLUME, {"spec": {"volumeClassRef": {"name": "a"}}}, False),
        (Kind.VOLUME, {"spec": {"resources": {"storage": "1Gi"}}}, False),
        (Kind.VOLUME, {"spec": {"claimRef": {"name": "a"}, "unclaimable": True}}, False),
        (Kind.NETWORK_INTERFACE, {"spec": {"networkRef": {"name": "a"}, "ips": [{}]}}, False),
        (Kind.SECRET, {"data": {"a": "not base64!"}}, False),
        (Kind.RESOURCE_QUOTA, {"spec": {"hard": {"requests.cpus": 1}}}, False),
    ],
)
def test_each_schema_refuses_what_breaks_its_rules(
    kind: Kind, change: dict[str, object], accepted: bool
) -> None:
    sample = next(load(text) for text in SAMPLES.values() if f"kind: {kind}\n" in text)
    assert isinstance(sample, dict)
    assert jsonschema.Draft202012Validator(schema(kind)).is_valid({**sample, **change}) is accepted
