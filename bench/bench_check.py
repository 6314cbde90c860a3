"""How fast a document is checked against its kind, and decoded; and how often the reference validator does it meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import jsonschema

from bench.measure import figure
from schemas.kinds import Kind
from schemas.manifest.schema_check import violations
from schemas.manifest.schema_file import load_schema
from schemas.model import decode

COUNT = 20_000


def machine(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": f"web-{number}", "namespace": "shop", "labels": {"app": "web", "tier": "front"}},
        "spec": {
            "machineClassRef": {"name": "small"},
            "machinePoolSelector": {"topology.ironcore.dev/zone": "eu-1"},
            "power": "On",
            "ignitionRef": {"name": "web-boot"},
            "volumes": [{"name": "root", "device": "oda", "volumeRef": {"name": f"web-{number}-root"}}],
            "networkInterfaces": [{"name": "lan", "networkInterfaceRef": {"name": f"web-{number}-lan"}}],
            "tolerations": [{"key": "gitvirt.dev/lab", "operator": "Exists"}],
        },
    }


def misspell(number: int) -> dict[str, Any]:
    body = machine(number)
    body["spec"]["power"] = "on"
    body["spec"]["machineClassref"] = body["spec"].pop("machineClassRef")
    return body


def rate(act: Callable[[dict[str, Any]], object], bodies: list[dict[str, Any]], runs: int = 3) -> float:
    best = float("inf")
    for _ in range(runs):
        start = perf_counter()
        for body in bodies:
            act(body)
        best = min(best, perf_counter() - start)
    return len(bodies) / best


def main() -> None:
    valid = [machine(number) for number in range(COUNT)]
    invalid = [misspell(number) for number in range(COUNT // 20)]
    reference = jsonschema.Draft202012Validator(load_schema(Kind.MACHINE.schema_file))
    violations(Kind.MACHINE, valid[0])
    gc.freeze()
    checked = rate(lambda body: violations(Kind.MACHINE, body), valid)
    explained = rate(lambda body: violations(Kind.MACHINE, body), invalid)
    decoded = rate(lambda body: decode(Kind.MACHINE, body), valid)
    slowly = rate(reference.is_valid, valid[:500], runs=1)
    figure("documents checked", f"{checked:,.0f}/s")
    figure("documents with two mistakes explained", f"{explained:,.0f}/s")
    figure("documents decoded into objects", f"{decoded:,.0f}/s")
    figure("checks for one of the reference validator", f"{checked / slowly:.0f}")


if __name__ == "__main__":
    main()
