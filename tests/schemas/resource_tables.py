"""The tables of docs/resources.md, rendered from the schemas: python -m tests.schemas.resource_tables writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.kinds import Kind
from schemas.manifest.schema_file import load_schema

DOCUMENT = Path(__file__).parents[2] / "docs" / "resources.md"

# Described once, in a section of their own.
OWN_TABLES = {
    "metadata": "",
    "status": "",
    "volumeTemplate.spec": "Volume",
    "networkInterfaceTemplate.spec": "NetworkInterface",
}
NAMES = {
    "name": "name",
    "dnsLabel": "name",
    "labelKey": "label key",
    "timestamp": "time",
    "secretKey": "text",
}
TYPES = {
    "object": "object",
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "number": "number",
}

Row = tuple[str, str, str, str]


def table(kind: Kind) -> str:
    root = load_schema(kind.schema_file)
    rows, ignored = [], []
    for path, required, rule in fields(root, root, ""):
        description = rule.get("description", "").replace("|", "\\|")
        if "not acted on" in description:
            ignored.append(f"`{path}`")
            continue
        default = (
            f"`{str(rule['default']).lower() if isinstance(rule['default'], bool) else rule['default']}`"
            if "default" in rule
            else ""
        )
        rows.append((f"`{path}`", "required" if required else default, kind_of(root, rule), description))
    lines = ["| field | default | type | meaning |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    if ignored:
        lines += ["", f"Accepted and not acted on: {', '.join(ignored)}."]
    status = [
        name for name, rule in root["properties"].get("status", {}).get("properties", {}).items() if rule
    ]
    if status:
        lines += ["", f"Status: {', '.join(f'`{name}`' for name in status)}."]
    return "\n".join(lines)


def fields(root: dict[str, Any], rule: dict[str, Any], at: str) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Every field below a rule, with its path in dots, whether it is required, and its own rule."""
    for name, written in rule.get("properties", {}).items():
        if not isinstance(written, dict) or (
            at == "" and name in ("apiVersion", "kind", "metadata", "status")
        ):
            continue
        inner = resolve(root, written)
        path = f"{at}.{name}" if at else name
        below = resolve(root, inner.get("items", {})) if inner.get("type") == "array" else inner
        if not (at == "" and name == "spec"):
            yield (
                path,
                name in rule.get("required", ()),
                {**inner, "ref": written.get("$ref", "").rpartition("/")[2]},
            )
        has_own_table = path.endswith(tuple(key for key, where in OWN_TABLES.items() if where))
        is_reference = written.get("$ref", "").endswith(("nameRef", "claimRef"))
        if not has_own_table and not is_reference and "not acted on" not in inner.get("description", ""):
            yield from fields(root, below, f"{path}[]" if inner.get("type") == "array" else path)


def resolve(root: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in rule:
        return rule
    target = root["$defs"][rule["$ref"].rpartition("/")[2]]
    return {**target, **{key: value for key, value in rule.items() if key != "$ref" and key != "properties"}}


def kind_of(root: dict[str, Any], rule: dict[str, Any]) -> str:
    name = rule.get("ref", "")
    if "uantity" in name:
        return "quantity"
    if name in ("nameRef", "claimRef"):
        return "`{name}`" if name == "nameRef" else "`{name, uid, assignment, released}`"
    if name in NAMES:
        return NAMES[name]
    if "enum" in rule:
        return ", ".join(f"`{choice}`" for choice in rule["enum"] if choice)
    if "const" in rule:
        return f"`{rule['const']}`"
    if rule.get("type") == "array":
        inner = kind_of(
            root, {**resolve(root, rule["items"]), "ref": rule["items"].get("$ref", "").rpartition("/")[2]}
        )
        return "list" if inner == "object" else f"list of {inner}"
    if rule.get("type") in (["string", "number"], "number"):
        return "number"
    if (
        "additionalProperties" in rule
        and isinstance(rule["additionalProperties"], dict)
        and not rule.get("properties")
    ):
        return "key: value"
    types = rule.get("type", "object")
    return TYPES[next(each for each in types if each != "null") if isinstance(types, list) else types]


def render(text: str) -> str:
    """The document with every table between its markers rendered again."""

    def render_rows(match: re.Match[str]) -> str:
        return f"<!-- fields of {match[1]} -->\n{table(Kind(match[1]))}\n<!-- end -->"

    return re.sub(r"<!-- fields of (\w+) -->\n.*?<!-- end -->", render_rows, text, flags=re.DOTALL)


if __name__ == "__main__":
    DOCUMENT.write_text(render(DOCUMENT.read_text()))
