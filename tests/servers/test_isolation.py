"""A failed test never fails the tests after it: they get servers of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import itertools
import pytest

STARTED = itertools.count(1)

@pytest.fixture(scope="session")
def server():
    return {"number": next(STARTED), "leftovers": []}

@pytest.fixture
def clean(server):
    yield server
    assert not server["leftovers"], "the teardown finds leftovers"

def test_passes(server):
    assert server["number"] == 1

def test_shares_the_server_of_a_test_that_passed(server):
    assert server["number"] == 1

def test_fails(server):
    server["leftovers"].append("a domain")
    raise AssertionError("on purpose")

def test_gets_a_fresh_server_after_a_failure(clean):
    assert clean["number"] == 2

def test_fails_in_its_teardown(clean):
    clean["leftovers"].append("a network")

def test_gets_a_fresh_server_after_a_failed_teardown(clean):
    assert clean["number"] == 3
"""


def test_test_after_a_failed_one_gets_fresh_servers(tmp_path: Path) -> None:
    file = tmp_path / "test_shared.py"
    file.write_text(TESTS)
    options = ("-q", "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-p", "tests.servers.isolation")
    command = [sys.executable, "-m", "pytest", *options, "-p", "no:xdist", str(file)]
    run = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=120)
    failed = sorted(
        line.split("::")[1].split()[0]
        for line in run.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    )
    assert failed == ["test_fails", "test_fails_in_its_teardown"], run.stdout
