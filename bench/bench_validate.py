"""`gitvirt validate` of 100,000 manifests in 1,000 folders: cold start to exit, the memory of all its processes, and
how long the same work takes with ruamel.yaml and jsonschema (measured on a sample, and scaled)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench import fleet
from bench.measure import figure

ROOT = Path(__file__).parents[1]
OBJECTS = 100_000
SAMPLE = 300
RUNS = 2  # the better one counts: noise only ever adds


def validate(root: Path) -> tuple[float, float]:
    """Seconds from start to exit, and the most mebibytes that its processes had at once."""
    command = [sys.executable, "-m", "reconciler", "validate", "-o", "json", str(root)]
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        peak: list[float] = [0.0]
        watcher = threading.Thread(target=watch, args=(process.pid, peak), daemon=True)
        watcher.start()
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        process.wait()
    seconds = time.perf_counter() - start
    assert process.returncode == 0, found["problems"][:3]
    assert found["summary"]["objects"] >= OBJECTS
    return seconds, peak[0]


def watch(pid: int, peak: list[float]) -> None:
    """Proportional set sizes: what processes share counts once."""
    while mebibytes := sum(proportional_mebibytes(each) for each in [pid, *children(pid)]):
        peak[0] = max(peak[0], mebibytes)
        time.sleep(0.1)


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def proportional_mebibytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def with_ruamel_and_jsonschema(root: Path) -> float:
    """Seconds a document, of the first thousands of files: parse, then validate by a prebuilt validator."""
    import jsonschema
    from ruamel.yaml import YAML

    from schemas.kinds import Kind
    from schemas.manifest.schema_file import load_schema

    validators = {str(kind): jsonschema.Draft202012Validator(load_schema(kind.schema_file)) for kind in Kind}
    paths = sorted((root / "fleet").rglob("*.yaml"))[:SAMPLE]
    start = time.perf_counter()
    for path in paths:
        body = YAML(typ="rt").load(path.read_bytes())
        assert not list(validators[body["kind"]].iter_errors(body))
    return (time.perf_counter() - start) / len(paths)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        objects = fleet.write(root, OBJECTS)
        runs = sorted(validate(root) for _ in range(RUNS))
        seconds, peak = runs[0][0], max(each for _, each in runs)
        slow = with_ruamel_and_jsonschema(root)
    figure("validate, objects", f"{objects:,} in {OBJECTS:,} files")
    figure("validate, cold start to exit", f"{seconds:.2f} s, {objects / seconds:,.0f} objects/s")
    figure("validate, peak memory of the process tree", f"{peak:.0f} MiB")
    ratio = slow * objects / seconds
    figure(
        "validate against ruamel.yaml (round trip) + jsonschema",
        f"{ratio:.0f} times faster ({slow * objects:.0f} s, scaled from {SAMPLE} files, references not checked)",
    )


if __name__ == "__main__":
    main()
