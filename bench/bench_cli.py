"""How long a person waits for `gitvirt --help` and for `gitvirt validate` of a small repo, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.measure import figure, seconds

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
CALLS = {"--help": ["--help"], "validate examples/repo": ["validate", str(ROOT / "examples/repo")]}
COUNT = "import sys; from reconciler.cli import main; code = main(sys.argv[1:]); print(len(sys.modules), file=sys.stderr)"


def call(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "reconciler", *arguments]
    subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)


def modules(arguments: list[str]) -> int:
    command = [sys.executable, "-c", COUNT, *arguments]
    done = subprocess.run(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
    )
    return int(done.stderr.split()[-1])


def bare() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def main() -> None:
    interpreter = seconds(bare, repeat=7)
    figure("python itself", f"{interpreter * 1000:.0f} ms")
    for name, arguments in CALLS.items():
        call(arguments)  # once for the byte code
        wall = seconds(lambda arguments=arguments: call(arguments), repeat=7)  # type: ignore[misc]
        figure(f"gitvirt {name}", f"{wall * 1000:.0f} ms, {modules(arguments)} modules")


if __name__ == "__main__":
    main()
