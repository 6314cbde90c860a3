"""What the laws of an edit speak of: a field of a body, and the rest of it."""

from __future__ import annotations

from schemas.edit import Changes, Value
from tests.schemas.edit.emitter import Body


def with_field(body: Body, path: tuple[str, ...], value: Value) -> Body:
    below = body.get(path[0])
    inner = with_field(below if isinstance(below, dict) else {}, path[1:], value) if path[1:] else value
    return {**body, path[0]: inner}


def without_field(body: Body, path: tuple[str, ...]) -> Body:
    """Also without the maps that this leaves empty, or that were: an edit may bring or take those."""
    below = body.get(path[0])
    if path[1:] and isinstance(below, dict):
        below = without_field(below, path[1:])
    if path[1:] and below:
        return {**body, path[0]: below}
    return {key: value for key, value in body.items() if key != path[0]}


def rest(body: Value, changes: Changes) -> Body:
    assert isinstance(body, dict)
    for target in changes:
        body = without_field(body, target.path)
    return body


def field(body: Value, path: tuple[str, ...]) -> Value:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body
