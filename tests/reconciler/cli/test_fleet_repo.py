"""Which repo a verb looks at, and by which refs."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import check_settings, locate_repo, open_fleet
from schemas.settings.fleet import PATH
from tests.reconciler.gitstore.git import git

SETTINGS = "fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "GITVIRT_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "fleet.git")
    return tmp_path / "fleet.git"


def push_files(bare: Path, branch: str, files: dict[str, str]) -> Path:
    checkout = bare.parent / "checkout"
    git(bare.parent, "init", "-q", "-b", branch, "checkout")
    for path, text in files.items():
        (checkout / path).write_text(text)
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    git(checkout, "remote", "add", "origin", str(bare))
    git(checkout, "push", "-q", "origin", branch)
    return checkout


def test_an_option_takes_precedence_over_the_checkout(bare: Path, tmp_path: Path) -> None:
    checkout = push_files(bare, "main", {PATH: SETTINGS})
    around = locate_repo(None, {}, checkout)
    assert (around.address.url, around.checkout) == (str(bare), checkout)
    assert locate_repo(None, {"GITVIRT_REPO": str(bare)}, tmp_path).address.url == str(bare)
    named = locate_repo("ssh://git@example.org/fleet.git", {"GITVIRT_REPO": str(bare)}, checkout)
    assert (named.address.host, named.checkout) == ("example.org", None)


def test_outside_of_any_repo_the_cure_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as raised:
        locate_repo(None, {}, tmp_path)
    assert raised.value.exit_code is Exit.USAGE
    assert "--repo" in raised.value.cure


@pytest.mark.parametrize("from_checkout", [True, False])
def test_branches_are_those_of_the_settings(
    bare: Path, environment: dict[str, str], from_checkout: bool
) -> None:
    settings = SETTINGS + "branches: {source: trunk, target: state}\nreports: {ref: refs/heads/hosts/}\n"
    checkout = push_files(bare, "trunk", {PATH: settings})
    git(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    where = (
        locate_repo(None, environment, checkout)
        if from_checkout
        else locate_repo(str(bare), environment, bare.parent)
    )
    with open_fleet(where, environment) as fleet:
        assert (fleet.refs.source, fleet.refs.target) == ("refs/heads/trunk", "refs/heads/state")
        assert fleet.refs.reports == "refs/heads/hosts/"
        assert fleet.snapshot.source is not None
        assert fleet.settings is not None


def test_an_empty_or_missing_repo_is_an_error_with_a_cure(bare: Path, environment: dict[str, str]) -> None:
    for named in (str(bare), str(bare.parent / "nothing.git")):
        with (
            pytest.raises(CommandError) as raised,
            open_fleet(locate_repo(named, environment, bare.parent), environment),
        ):
            pass
        assert raised.value.cure


def test_a_renamed_source_branch_is_named(bare: Path, environment: dict[str, str]) -> None:
    push_files(bare, "trunk", {PATH: SETTINGS + "branches: {source: trunk}\n"})
    git(bare, "branch", "-m", "trunk", "renamed")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/renamed")
    with (
        pytest.raises(CommandError, match="source branch refs/heads/trunk does not exist") as raised,
        open_fleet(locate_repo(str(bare), environment, bare.parent), environment),
    ):
        pass
    assert "refs/heads/renamed" in raised.value.cure


@pytest.mark.parametrize(
    ("settings", "from_checkout"),
    [("", True), ("", False), ("branches: {source: trunk, target: state}\n", True)],
)
def test_without_its_source_branch_a_fleet_is_read_from_live(
    bare: Path,
    environment: dict[str, str],
    settings: str,
    from_checkout: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Other names than the default ones are known from a checkout alone."""
    source, target = ("trunk", "state") if settings else ("main", "live")
    checkout = push_files(bare, source, {PATH: SETTINGS + settings})
    git(bare, "branch", target, source)
    git(bare, "update-ref", "-d", f"refs/heads/{source}")
    where = (None, checkout) if from_checkout else (str(bare), bare.parent)
    with open_fleet(locate_repo(where[0], environment, where[1]), environment) as fleet:
        assert fleet.snapshot.source is None
        assert fleet.snapshot.target is not None
        assert fleet.settings is not None
        check_settings(fleet)
        note = capsys.readouterr().err
        assert f"the source branch {source} does not exist; showing {target}, which stays as it is" in note
        assert f":refs/heads/{source}" in note
        with pytest.raises(CommandError, match=f"the source branch {source} does not exist"):
            check_settings(fleet, changes=True)
