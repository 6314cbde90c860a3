"""A failed test ends every server that was started for it, so the next test begins with fresh ones.

Rule: servers are shared by the tests of a module or of a whole process only as long as every test passes. A failed test may
have left domains, networks, volumes or locks behind, and the next test would fail for that reason alone.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.when != "teardown":
        item.stash[HAS_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Ends the fixtures of all scopes after a failure, also after one in the teardown itself."""
    is_clean = False
    try:
        yield
        is_clean = not item.stash.get(HAS_FAILED, False)
    finally:
        if not is_clean:
            # pytest has no public way to end fixtures of wider scopes early.
            item.session._setupstate.teardown_exact(None)
