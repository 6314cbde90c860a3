"""How long a person waits for `gitvirt plan` of a pull request with 2,000 new machines that fit nowhere, in time of a processor.

What a plan costs beyond reading and checking its files is held to a ratio of what `gitvirt validate` takes for the same ones, and the time
of 2,000 to that of 1,000: machines that differ in names alone are explained once, so nothing grows with the square of their number.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import fleet
from bench.measure import figure

ROOT = Path(__file__).parents[1]
MACHINES = 2_000
RUNS = 3
MOST_OF_VALIDATE = 6.0  # times; with each file parsed three times it was 6.5, with a scan of all pools for each machine more than twice that
MOST_OF_HALF = 2.6  # times
CLASS = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: small}
capabilities: {cpu: 2, memory: 4Gi}
"""
POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: pool-{}}}\n"
MACHINE = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {{name: web-{}, namespace: default}}
spec:
  machineClassRef: {{name: small}}
  volumes:
    - name: root
      localDisk: {{sizeLimit: 10Gi, image: registry.example.org/images/debian:12}}
"""


def plain(machines: int) -> dict[str, str]:
    """Machines with a local disk each, and pools whose hosts were not started yet."""
    pools = {f"pools/{number}.yaml": POOL.format(number) for number in range(fleet.POOLS)}
    files = {f"machines/{number}.yaml": MACHINE.format(number) for number in range(machines)}
    return {"gitvirt.yaml": fleet.base(1)["gitvirt.yaml"], "class.yaml": CLASS, **pools, **files}


def with_volumes(machines: int) -> dict[str, str]:
    """Each with a volume and an interface of its own, which are objects as well."""
    return fleet.files(len(fleet.KINDS) * machines)


def checkout(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "fleet")):
        subprocess.run(("git", "-C", str(folder), *words), check=True)
    return folder


def processor_seconds(folder: Path, *words: str, codes: tuple[int, ...]) -> float:
    """The least of a few runs, start of the process included."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "reconciler", *words]
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert done.returncode in codes, done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    unschedulable = (5,)
    with TemporaryDirectory(prefix="gv-") as name:
        half = checkout(Path(name) / "half", with_volumes(MACHINES // 2))
        whole = checkout(Path(name) / "whole", with_volumes(MACHINES))
        few = checkout(Path(name) / "few", plain(MACHINES))
        of_plain = processor_seconds(few, "plan", codes=unschedulable)
        of_half = processor_seconds(half, "plan", codes=unschedulable)
        of_whole = processor_seconds(whole, "plan", codes=unschedulable)
        checked = processor_seconds(whole, "validate", codes=(0,))
    figure(f"plan of {MACHINES:,} machines that fit nowhere", f"{of_plain:.2f} s of a processor")
    text = f"{of_whole:.2f} s of a processor, {of_whole / checked:.1f} times what validate takes"
    figure(f"the same with a volume and an interface each, {3 * MACHINES:,} objects", text)
    figure(f"{MACHINES:,} machines compared with half of them", f"{of_whole / of_half:.2f} times as long")
    assert of_whole < MOST_OF_VALIDATE * checked, "a plan costs too much beyond the reading of its files"
    assert of_whole < MOST_OF_HALF * of_half, "the cost of a plan grows faster than its machines"


if __name__ == "__main__":
    main()
