"""Documents that are almost right: samples with one or two things changed at random places."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from schemas.kinds import Kind, recognize_document
from tests.schemas.samples import SAMPLES, load

VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        0.5,
        1e3,
        2**63,
        2**70,
        10**400,
        "",
        "a",
        "on",
        "On",
        "16GB",
        "16Gi",
        "1Gi",
        "-1",
        "0",
    ),
    *("Web_1", "x" * 300, "\u00e4", "\x00", "ENC[x]", "10.0.0.1", "2026-01-02T03:04:05Z"),
    *(
        [],
        [None],
        [{}],
        [{"name": "a"}],
        {},
        {"name": "a"},
        {"": ""},
        {"a": {"b": [1]}},
        {"name": "a", "surplus": 1},
    ),
]
HOSTILE: list[Any] = [
    *(
        float("nan"),
        float("inf"),
        -float("inf"),
        b"bytes",
        {1: 2},
        {None: 1, True: 2},
        {10**5000: 1},
        {1, 2},
        (1, 2),
    ),
    *(
        object(),
        "\ud800",
        {"\ud800": 1},
        10**5000,
        [{"x": 1}] * 1100,
        {str(index): index for index in range(1100)},
    ),
]


@cache
def documents() -> list[tuple[Kind, dict[str, Any]]]:
    found = []
    for text in SAMPLES.values():
        body = load(text)
        kind = recognize_document(body)
        assert isinstance(body, dict)
        assert isinstance(kind, Kind)
        found.append((kind, body))
    return found


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


def change_value(body: dict[str, Any], path: tuple[Any, ...], how: str, value: object) -> Any:
    if not path:
        return value if how == "replace" else body
    body = copy.deepcopy(body)
    parent: Any = body
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1]
    if how == "remove":
        del parent[last]
    elif how == "rename" and isinstance(last, str):
        parent[f"{last}s"] = parent.pop(last)
    elif how == "repeat" and isinstance(parent, list):
        parent.append(parent[last])
    elif how == "add" and isinstance(parent[last], dict):
        parent[last]["surplus"] = value
    else:
        parent[last] = value
    return body


@st.composite
def mutate(draw: st.DrawFn, *, is_hostile: bool = False) -> tuple[Kind, Any]:
    # Drawn by index: Hypothesis refuses strategies whose text is as long as these values.
    values = [*VALUES, *HOSTILE] if is_hostile else VALUES
    samples = documents()
    kind, sample = samples[draw(st.integers(0, len(samples) - 1))]
    body: Any = sample
    for _ in range(draw(st.integers(1, 3))):
        if not isinstance(body, dict):
            break
        paths = places(body)
        path = paths[draw(st.integers(0, len(paths) - 1))]
        how = draw(st.sampled_from(["replace", "remove", "rename", "repeat", "add"]))
        body = change_value(body, path, how, values[draw(st.integers(0, len(values) - 1))])
    return kind, body
