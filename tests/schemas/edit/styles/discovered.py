"""What property tests and fuzzing found."""

from __future__ import annotations

from schemas.edit import Annotation, Field
from tests.schemas.edit.styles.case import IDENTIFY, PLACE, PLACE_AND_RUN, RUN, UNPLACE, Case

CASES = (
    Case(
        "comment behind a literal would join it",
        "metadata:\n  name: |-\n   a\n  annotations:\n    # why\n    zone: a\n",
        {Annotation("zone"): None},
        "metadata:\n  name: |-\n   a\n",
    ),
    Case(
        "comment behind a dropped entry would join a literal",
        "spec:\n  text: |\n    a\n  machinePoolRef: {name: a}\n    # deep\n  # c\nx: y\n",
        UNPLACE,
        "spec:\n  text: |\n    a\n  # c\nx: y\n",
    ),
    Case(
        "comment behind a status that ends in a literal",
        "status:\n  state: a\n    # deep\nspec: {}\n",
        {Field.STATUS: {"state": "a\nb\n"}},
        "status:\n  state: |\n    a\n    b\nspec: {}\n",
    ),
    Case(
        "the same anchor twice, and a break of YAML 1.1",
        'a: &a x\nb: &a ["x\x85y"]\nspec: &s\n  power: On\n',
        PLACE,
        'a: &a x\nb: &a ["x\x85y"]\nspec: &s\n  power: On\n  machinePoolRef:\n    name: b\n',
    ),
    Case(
        "an anchor before braces",
        "metadata: &m {name: x}\nspec: !!map {power: On} # c\n",
        {**PLACE, **IDENTIFY},
        "metadata: &m {name: x, uid: u-1}\nspec: !!map {power: On, machinePoolRef: {name: b}} # c\n",
    ),
    Case(
        "an anchor before nested braces",
        "{spec: &s {power: On}, x: !t [a]}\n",
        PLACE,
        "{spec: &s {power: On, machinePoolRef: {name: b}}, x: !t [a]}\n",
    ),
    Case(
        "a tag before a literal",
        "status: !!str |\n  a\n  # b\nspec: {}\n",
        RUN,
        "status:\n  state: Running\nspec: {}\n",
    ),
    Case(
        "a tag and an anchor",
        "status: !!str &a 'x' # c\nspec: {}\n",
        RUN,
        "status: # c\n  state: Running\nspec: {}\n",
    ),
    Case(
        "quotes in comments of braces",
        "{ # it's \"\n  metadata: {name: a}, # '\n  spec: {\n    power: On\n  }\n}\n",
        PLACE_AND_RUN,
        "{ # it's \"\n  metadata: {name: a}, # '\n  spec: {\n    power: On,\n    machinePoolRef: {name: b}\n  },\n  status: {state: Running}\n}\n",
    ),
    Case(
        "literal of nothing before the next document",
        "spec:\n  a: |\n---\nx: y\n",
        PLACE,
        "spec:\n  a: |\n  machinePoolRef:\n    name: b\n---\nx: y\n",
    ),
)
