"""Schema and model are two views of one thing: a used field is in both, with the same default."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from schemas.kinds import Kind
from schemas.manifest.schema_file import load_schema
from schemas.model import TYPES, defaults


def resolve(root: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in rule:
        return {
            **root["$defs"][rule["$ref"].rpartition("/")[2]],
            **{k: v for k, v in rule.items() if k == "description"},
        }
    return rule


def struct_in(annotation: object) -> type[msgspec.Struct] | None:
    """The struct that a field holds, through tuples and unions."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) in (tuple, typing.Union):
        for inner in typing.get_args(annotation):
            found = struct_in(inner)
            if found:
                return found
    return None


def pairs(
    root: dict[str, Any], rule: dict[str, Any], model: type[msgspec.Struct], at: str
) -> Iterator[tuple[str, Any, Any]]:
    """Every field of either side: its path, its rule in the schema and its type in the model, None where it is missing."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(model)}
    declared = {name: inner for name, inner in rule.get("properties", {}).items() if isinstance(inner, dict)}
    for name in [*declared, *(name for name in fields if name not in declared)]:
        inner = resolve(root, declared[name]) if name in declared else None
        field = fields.get(name)
        yield f"{at}.{name}", inner, field
        if inner is not None and field is not None:
            below = struct_in(field.type)
            entries = resolve(root, inner["items"]) if "items" in inner else inner
            if below:
                yield from pairs(root, entries, below, f"{at}.{name}")


@pytest.mark.parametrize("kind", Kind)
def test_every_used_field_is_in_schema_and_model(kind: Kind) -> None:
    root = load_schema(kind.schema_file)
    missing = []
    for at, rule, field in pairs(root, root, TYPES[kind], kind):
        if at == f"{kind}.kind" or (rule is not None and "not acted on" in rule.get("description", "")):
            assert field is None, f"{at} is in the model, but the schema says it is not acted on"
        elif rule is None or field is None:
            missing.append(f"{at} is missing in the {'schema' if rule is None else 'model'}")
    assert missing == []


@pytest.mark.parametrize("kind", Kind)
def test_schema_and_model_have_the_same_defaults(kind: Kind) -> None:
    root = load_schema(kind.schema_file)
    for at, rule, field in pairs(root, root, TYPES[kind], kind):
        if rule is None or field is None or "default" not in rule:
            continue
        written, meant = rule["default"], field.default
        assert str(written) == str(meant), at


@pytest.mark.parametrize("kind", Kind)
def test_schema_and_model_require_the_same_fields(kind: Kind) -> None:
    root = load_schema(kind.schema_file)
    required = {f"{kind}.{name}" for name in root["required"]} - {f"{kind}.kind"}
    assert {
        at
        for at, _, field in pairs(root, root, TYPES[kind], kind)
        if at.count(".") == 1 and field and field.required
    } == (required)


def test_constants_agree_with_the_schemas() -> None:
    properties = load_schema(Kind.MACHINE.schema_file)["properties"]["spec"]["properties"]
    definitions = load_schema(Kind.MACHINE.schema_file)["$defs"]
    assert properties["power"]["default"] == defaults.POWER
    assert properties["onPoolLost"]["default"] == defaults.ON_POOL_LOST
    assert properties["spread"]["properties"]["maxSkew"]["default"] == defaults.MAX_SKEW
    assert properties["spread"]["properties"]["whenUnsatisfiable"]["default"] == defaults.WHEN_UNSATISFIABLE
    assert properties["ignitionRef"]["properties"]["key"]["default"] == defaults.IGNITION_KEY
    assert properties["volumes"]["maxItems"] == len(tuple(defaults.device_names()))
    assert definitions["toleration"]["properties"]["operator"]["default"] == defaults.TOLERATION_OPERATOR
    assert (
        definitions["localDisk"]["properties"]["sizeLimit"]["description"]
        == "Size; absent or zero means 10Gi."
    )
    assert defaults.LOCAL_DISK_BYTES == 10 * 2**30
    assert (
        load_schema(Kind.VOLUME_CLASS.schema_file)["properties"]["resizePolicy"]["default"]
        == defaults.RESIZE_POLICY
    )
