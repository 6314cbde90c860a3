"""Runs the targets one after the other: python -m tests.fuzz [SECONDS [TARGET ...]]. Findings end up in .cache/fuzz/."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "fuzz"
TARGETS = tuple(
    sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if not file.stem.startswith("test_"))
)


def fuzz(target: str, seconds: int) -> None:
    """In this process, for good: libFuzzer ends it."""
    import atheris

    # Only our own code is instrumented; parsers in C and Rust are exercised, not observed.
    with atheris.instrument_imports(include=["schemas", "iri.exec"], enable_loader_override=False):
        module = importlib.import_module(f"tests.fuzz.{target}")
    corpus = CACHE / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.SEEDS):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={CACHE}/{target}-", str(corpus)], module.once)
    atheris.Fuzz()


def main() -> int:
    seconds, *targets = sys.argv[1:] or ["60"]
    if len(targets) == 1 and targets[0].startswith("="):
        fuzz(targets[0][1:], int(seconds))
    failed = []
    for target in targets or TARGETS:
        print(f"fuzzing {target} for {seconds} s", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", seconds, f"={target}"]
        failed += [target] if subprocess.run(command, check=False).returncode else []
    if failed:
        print(f"broken: {', '.join(failed)}; the inputs are in {CACHE}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
