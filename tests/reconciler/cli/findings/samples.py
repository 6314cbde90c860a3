"""Outcomes with all that is awkward to print: escapes, line breaks, names that are not UTF-8."""

from __future__ import annotations

import os

from reconciler.cli.findings.outcome import ValidationOutcome
from schemas.problem import Problem, Severity

NOT_UTF8 = os.fsdecode(b"caf\xe9.yaml")

ERROR = Problem(
    file="machines/web-1.yaml",
    line=4,
    column=26,
    code="GV310",
    object="Machine/default/web-1",
    pointer="/spec/machineClassRef/name",
    message='there is no MachineClass "smal"',
    hint='did you mean "small"?',
)
WARNING = Problem(
    file=NOT_UTF8,
    code="GV184",
    severity=Severity.WARNING,
    message="the name contains unprintable characters, or is not UTF-8",
)
NASTY = Problem(
    file="a,b:c%\n.yaml",
    line=1,
    column=1,
    code="GV362",
    severity=Severity.NOTICE,
    object="Machine/default/x",
    message="100% <&\"'> ]]> \x1b[31m\x00\r\nend",
    hint="line one\nline two",
)
FINE = ValidationOutcome((), ("a.yaml", "b.yaml"), objects=3, foreign=1, seconds=0.01)
MIXED = ValidationOutcome((NASTY, WARNING, ERROR), (NASTY.file, NOT_UTF8, ERROR.file, "ok.yaml"), 7, 0, 1.5)

WEB_1 = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {name: web-1}
spec: {machineClassRef: {name: smal}}
"""
