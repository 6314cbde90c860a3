"""Texts in which the field cannot be had without changing something else: why, and where."""

from __future__ import annotations

from tests.schemas.edit.styles.case import PLACE, PLACE_AND_RUN, RESUME, UNPLACE, Refusal

CASES = (
    Refusal(
        "quoted multi col 0",
        'note: "\nspec:\n  machinePoolRef: {name: a}\n"\nspec:\n  power: On\n',
        PLACE_AND_RUN,
        "GV701",
        (2, 1),
        "",
    ),
    Refusal(
        "quoted multi col 0 single",
        "note: 'a\nspec:\n  x: y'\nspec:\n  power: On\n",
        PLACE_AND_RUN,
        "GV701",
        (2, 1),
        "",
    ),
    Refusal(
        "merge brings ref, remove",
        "base: &b\n  machinePoolRef:\n    name: a\nspec:\n  <<: *b\n",
        UNPLACE,
        "GV704",
        (4, 1),
        "/spec",
    ),
    Refusal(
        "spec anchor used", "spec: &s\n  power: On\nother: *s\n", PLACE_AND_RUN, "GV703", (1, 1), "/spec"
    ),
    Refusal("spec alias", "other: &s\n  power: On\nspec: *s\n", PLACE_AND_RUN, "GV703", (3, 1), "/spec"),
    Refusal(
        "ref anchor used",
        "spec:\n  machinePoolRef: &s {name: a}\nother: *s\n",
        PLACE,
        "GV703",
        (2, 3),
        "/spec/machinePoolRef",
    ),
    Refusal(
        "ref anchor used block",
        "spec:\n  machinePoolRef: &s\n    name: a\nother: *s\n",
        PLACE,
        "GV703",
        (2, 3),
        "/spec/machinePoolRef",
    ),
    Refusal("spec scalar", "spec: 5\n", PLACE_AND_RUN, "GV702", (1, 1), "/spec"),
    Refusal("spec list", "spec: [a]\n", PLACE_AND_RUN, "GV702", (1, 1), "/spec"),
    Refusal("doc list", "- spec:\n    a: b\n", PLACE_AND_RUN, "GV701", (1, 1), ""),
    Refusal("doc list2", "- spec: {a: b}\n- x\n", PLACE_AND_RUN, "GV701", (1, 1), ""),
    Refusal("doc scalar", "spec\n", PLACE_AND_RUN, "GV701", (1, 1), ""),
    Refusal("invalid utf8", b"spec:\n  a: \xff\n", PLACE_AND_RUN, "GV701", (2, 6), ""),
    Refusal("malformed", "spec: [\n", PLACE_AND_RUN, "GV701", (1, 7), ""),
    Refusal("dup key", "spec:\n  a: b\nspec:\n  c: d\n", PLACE_AND_RUN, "GV701", (3, 1), ""),
    Refusal("empty", "", PLACE_AND_RUN, "GV701", (1, 1), ""),
    Refusal("only comment", "# x\n", PLACE_AND_RUN, "GV701", (2, 1), ""),
    Refusal("binary", "\x00\x01\x02", PLACE_AND_RUN, "GV701", (1, 1), ""),
    Refusal(
        "resume merged",
        'b: &b {gitvirt.dev/paused: "true"}\nmetadata:\n  annotations:\n    <<: *b\n  name: x\n',
        RESUME,
        "GV704",
        (3, 3),
        "/metadata/annotations",
    ),
    Refusal(
        "flow set with anchors",
        "{spec: &s {power: !!str On}, x: *s }\n",
        PLACE_AND_RUN,
        "GV703",
        (1, 2),
        "/spec",
    ),
    Refusal(
        "comment hash no space",
        "spec:\n  a: b#c\n  machinePoolRef: {name: a}# no\n",
        PLACE_AND_RUN,
        "GV701",
        (3, 28),
        "",
    ),
    Refusal("utf16", b"\xff\xfes\x00p\x00e\x00c\x00:\x00 \x00{\x00}\x00", PLACE_AND_RUN, "GV701", (1, 1), ""),
)
