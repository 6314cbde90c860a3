from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reconciler.gitstore.process import (
    MOST_ERROR_BYTES,
    MOST_OUTPUT_BYTES,
    CannotRun,
    Exited,
    ProgramTimedOut,
    run,
)

HERE = {"PATH": os.environ["PATH"]}
# A shell on a busy machine has said something after so long; and nothing takes so long that ends in time.
SOON = 3.0
LONG = 60.0


def test_output_errors_status_and_input() -> None:
    ended = run(["sh", "-c", "cat; echo no >&2; exit 3"], HERE, 10, b"x" * 300_000)
    assert ended == Exited(3, b"x" * 300_000, b"no\n")


def test_a_program_that_does_not_read_its_input_is_fine() -> None:
    assert run(["true"], HERE, 10, b"x" * 300_000) == Exited(0, b"", b"")


def test_it_inherits_nothing() -> None:
    ended = run(["env"], HERE | {"ONE": "1"}, 10)
    assert isinstance(ended, Exited)
    assert {line.split("=")[0] for line in ended.output.decode().splitlines()} <= {
        "PATH",
        "ONE",
        "PWD",
        "SHLVL",
        "_",
    }
    assert run(["cat"], HERE, 10) == Exited(0, b"", b"")


@pytest.mark.parametrize("trap", ["", "trap '' TERM;"], ids=["asked", "stubborn"])
def test_past_the_deadline_the_whole_group_is_gone(tmp_path: Path, trap: str) -> None:
    pids = tmp_path / "pids"
    script = f"{trap} sleep 600 & echo $! > {pids}; echo $$ >> {pids}; echo waiting >&2; wait; sleep 600"
    start = time.monotonic()
    outcome = run(["sh", "-c", script], HERE, SOON)
    assert time.monotonic() - start < LONG
    assert outcome == ProgramTimedOut(SOON, b"waiting\n")
    for pid in pids.read_text().split():
        until = time.monotonic() + LONG
        while _is_alive(int(pid)) and time.monotonic() < until:
            time.sleep(0.01)
        assert not _is_alive(int(pid))


def test_output_that_is_closed_early_does_not_end_the_deadline() -> None:
    start = time.monotonic()
    assert isinstance(run(["sh", "-c", "exec >&- 2>&-; sleep 600"], HERE, 0.3), ProgramTimedOut)
    assert time.monotonic() - start < LONG


def test_half_an_output_is_a_failure() -> None:
    ended = run(["head", "-c", str(MOST_OUTPUT_BYTES + 1), "/dev/zero"], HERE, 60)
    assert isinstance(ended, Exited)
    assert ended.status < 0
    assert "larger than 64 MiB" in ended.words


def test_a_flood_is_bounded() -> None:
    ended = run(["sh", "-c", "head -c 3000000 /dev/zero >&2"], HERE, 20)
    assert isinstance(ended, Exited)
    assert MOST_ERROR_BYTES <= len(ended.errors) <= MOST_ERROR_BYTES + (1 << 16)


def test_a_missing_program_is_a_value() -> None:
    assert run(["/no/such/program"], HERE, 1) == CannotRun(
        "cannot run /no/such/program: No such file or directory"
    )


def _is_alive(pid: int) -> bool:
    """A zombie that no parent reaps is dead enough."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
