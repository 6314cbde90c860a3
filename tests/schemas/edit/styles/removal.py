"""Fields that go: what stays is as it was."""

from __future__ import annotations

from schemas.edit import Field, Means
from tests.schemas.edit.styles.case import RESUME, UNDRAIN, UNPLACE, Case

CASES = (
    Case(
        "remove ref",
        "spec:\n  power: On\n  machinePoolRef:\n    name: a\n    # deep\n  # shallow\n  x: y\n",
        UNPLACE,
        "spec:\n  power: On\n    # deep\n  # shallow\n  x: y\n",
    ),
    Case("remove only", "spec:\n  machinePoolRef: {name: a} # c\n", UNPLACE, "spec: {}\n"),
    Case("remove flow first", "spec: {machinePoolRef: {name: a}, b: c}\n", UNPLACE, "spec: {b: c}\n"),
    Case("remove flow last", "spec: {b: c, machinePoolRef: {name: a}}\n", UNPLACE, "spec: {b: c}\n"),
    Case(
        "remove flow comments",
        "spec: {\n  b: c, # b\n  machinePoolRef: {name: a}, # r\n  # about d\n  d: e # d\n}\n",
        UNPLACE,
        "spec: {\n  b: c, # b\n  # about d\n  d: e # d\n}\n",
    ),
    Case(
        "remove flow last comments",
        "spec: {\n  b: c, # b\n  machinePoolRef: {name: a} # r\n  # end\n}\n",
        UNPLACE,
        "spec: {\n  b: c # b\n  # end\n}\n",
    ),
    Case("remove last no newline", "spec:\n  a: b\n  machinePoolRef:\n    name: a", UNPLACE, "spec:\n  a: b"),
    Case("remove null", "spec:\n  a: b\n  machinePoolRef:\nx: y\n", UNPLACE, "spec:\n  a: b\nx: y\n"),
    Case(
        "json pretty drop",
        '{\n  "spec": {\n    "power": "On",\n    "machinePoolRef": {\n      "name": "b"\n    }\n  },\n  "status": {}\n}\n',
        {Field.MACHINE_POOL_REF: None, Field.STATUS: None},
        '{\n  "spec": {\n    "power": "On"\n  }\n}\n',
    ),
    Case(
        "json compact drop",
        '{"spec":{"power":"On","machinePoolRef":{"name":"b"}},"status":{"a":1}}',
        {Field.MACHINE_POOL_REF: None, Field.STATUS: None},
        '{"spec":{"power":"On"}}',
    ),
    Case(
        "json clear",
        '{"spec": {"machinePoolRef": {"name": "b"}}, "x": 1}\n',
        UNPLACE,
        '{"spec": {}, "x": 1}\n',
    ),
    Case(
        "resume",
        'metadata:\n  name: x\n  annotations: # why\n    # by ops\n    gitvirt.dev/paused: "true" # y\n    # end\nspec: {}\n',
        RESUME,
        "metadata:\n  name: x\n    # by ops\n    # end\nspec: {}\n",
    ),
    Case(
        "resume quoted key",
        "metadata:\n  name: x\n  annotations:\n    'gitvirt.dev/paused': \"true\"\n    b: c\n",
        RESUME,
        "metadata:\n  name: x\n  annotations:\n    b: c\n",
    ),
    Case(
        "resume flow",
        'metadata:\n  name: x\n  annotations: {gitvirt.dev/paused: "true"}\nspec: {}\n',
        RESUME,
        "metadata:\n  name: x\nspec: {}\n",
    ),
    Case(
        "resume all flow",
        'metadata: {name: x, annotations: {gitvirt.dev/paused: "true"}}\n',
        RESUME,
        "metadata: {name: x}\n",
    ),
    Case(
        "resume no newline",
        'metadata:\n  name: x\n  annotations:\n    gitvirt.dev/paused: "true"',
        RESUME,
        "metadata:\n  name: x",
    ),
    Case(
        "clear comments",
        "spec: # s\n  # a\n  machinePoolRef: # b\n    name: a\n  # c\nx: y\n",
        UNPLACE,
        "spec: {} # s\n  # a\n  # c\nx: y\n",
    ),
    Case(
        "clear crlf no newline",
        "x: y\r\nspec:\r\n  machinePoolRef:\r\n    name: a",
        UNPLACE,
        "x: y\r\nspec: {}",
    ),
    Case(
        "clear flow comments",
        "spec: {\n  # a\n  machinePoolRef: {name: a} # b\n}\n",
        UNPLACE,
        "spec: {\n  # a\n   # b\n}\n",
    ),
    Case(
        "clear explicit",
        "? spec\n: machinePoolRef: {name: a}\n",
        UNPLACE,
        "spec: {}\n",
        means=Means.ROUND_TRIP,
    ),
    Case(
        "uncordon",
        "spec:\n  unschedulable: true\n  taints:\n  - key: a\n  # c\n  providerID: x\n",
        UNDRAIN,
        "spec:\n  # c\n  providerID: x\n",
    ),
    Case(
        "uncordon to nothing", "spec:\n  unschedulable: true\n  taints:\n  - key: a\n", UNDRAIN, "spec: {}\n"
    ),
    Case("status only", "status: {a: b}\n", {Field.STATUS: None}, "{}\n", means=Means.ROUND_TRIP),
)
