"""Manifests edited a second, each read back; how that compares to round trips by ruamel.yaml; and by which means."""

from __future__ import annotations

import gc
import io
import time
from collections import Counter
from collections.abc import Sequence

from ruamel.yaml import YAML

from bench.measure import figure
from schemas.edit import Changes, Edited, Field, Means, Value, edit

MACHINE = """\
# {owner} looks after this one
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-{i:06}
  namespace: team-{team}
  labels: {{app: web, tier: "{team}"}}
spec:
  machineClassRef:
    name: small
  machinePoolSelector:
    topology.ironcore.dev/zone: z{zone}
  power: On  # keep it running
  volumes:
    - name: root
      device: oda
      volumeRef:
        name: web-{i:06}-root
  networkInterfaces:
    - name: primary
      networkInterfaceRef:
        name: web-{i:06}
"""
AS_JSON = """\
{{
  "apiVersion": "compute.ironcore.dev/v1alpha1",
  "kind": "Machine",
  "metadata": {{
    "name": "web-{i:06}",
    "namespace": "team-{team}"
  }},
  "spec": {{
    "machineClassRef": {{"name": "small"}},
    "power": "On",
    "volumes": [{{"name": "root", "device": "oda", "volumeRef": {{"name": "web-{i:06}-root"}}}}],
    "networkInterfaces": []
  }}
}}
"""
EXPLICIT = """\
? apiVersion
: compute.ironcore.dev/v1alpha1
? kind
: Machine
? metadata
: name: web-{i:06}
? spec
: machineClassRef: {{name: small}}
  power: On
"""
ALIASED = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {{name: web-{i:06}}}
spec:
  machinePoolRef: {{name: &pool none}}
  machinePoolSelector: {{pool: *pool}}
"""


def manifests(form: str, count: int) -> list[bytes]:
    return [form.format(i=i, owner=f"team {i % 7}", team=i % 7, zone=i % 4).encode() for i in range(count)]


def place_machine(i: int) -> Changes:
    return {Field.MACHINE_POOL_REF: {"name": f"host-{i % 50}"}, Field.STATUS: {"state": "Pending"}}


def running(i: int) -> Changes:
    ready: Value = {
        "type": "Ready",
        "status": "True",
        "reason": "Running",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    return {
        Field.MACHINE_POOL_REF: {"name": f"host-{i % 50}"},
        Field.STATUS: {"state": "Running", "machineID": f"libvirt://web-{i}", "conditions": [ready]},
    }


def edit_machine(texts: Sequence[bytes], changes: Sequence[Changes]) -> list[Edited]:
    out = []
    for text, change in zip(texts, changes, strict=True):
        outcome = edit(text, 0, change)
        assert isinstance(outcome, Edited), outcome
        out.append(outcome)
    return out


def rate(texts: Sequence[bytes], changes: Sequence[Changes], repeat: int = 3) -> float:
    gc.collect()
    gc.freeze()
    best = 0.0
    for _ in range(repeat):
        start = time.perf_counter()
        edit_machine(texts, changes)
        best = max(best, len(texts) / (time.perf_counter() - start))
    return best


def round_trips(texts: Sequence[bytes], changes: Sequence[Changes]) -> float:
    yaml = YAML()
    yaml.preserve_quotes = True
    start = time.perf_counter()
    for text, change in zip(texts, changes, strict=True):
        document = yaml.load(text)
        for field, value in change.items():
            above = document
            for key in field.path[:-1]:
                above = above[key]
            above[field.path[-1]] = value
        yaml.dump(document, io.BytesIO())
    return len(texts) / (time.perf_counter() - start)


def main() -> None:
    count = 20_000
    first, then = [place_machine(i) for i in range(count)], [running(i) for i in range(count)]
    block = manifests(MACHINE, count)
    before = [outcome.data for outcome in edit_machine(block, first)]
    placing, updating = rate(block, first), rate(before, then)
    nothing = rate(before, first)
    json = rate(manifests(AS_JSON, count // 4), first[: count // 4])
    by_marks = rate(manifests(EXPLICIT, count // 20), first[: count // 20])
    slow = round_trips(block[:200], first[:200])
    mixed = [manifests(form, 100) for form in (MACHINE, AS_JSON, EXPLICIT, ALIASED)]
    means = [Counter(outcome.means for outcome in edit_machine(texts, first[:100])) for texts in mixed]
    figure("edit, machinePoolRef and status set, block style", f"{placing:,.0f}/s")
    figure("edit, status replaced, block style", f"{updating:,.0f}/s")
    figure("edit, everything already so", f"{nothing:,.0f}/s")
    figure("edit, JSON", f"{json:,.0f}/s")
    figure("edit, explicit keys (marks of the parser)", f"{by_marks:,.0f}/s")
    figure("edit, times a round trip by ruamel.yaml", f"{placing / slow:,.0f} ({slow:,.0f}/s)")
    for name, counted in zip(("block", "JSON", "explicit keys", "anchors in the ref"), means, strict=True):
        shares = ", ".join(f"{mean.name.lower()} {counted[mean]}%" for mean in Means if counted[mean])
        figure(f"edit, means, {name}", shares)


if __name__ == "__main__":
    main()
