"""Names of objects while a person types: those of the fleet around, by the kind and the namespace on the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.cli import completion

MACHINES = {"web-1", "web-2", "lab/lab"}


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("get machine ", MACHINES),
        ("get machines web-1 ", MACHINES - {"web-1"}),
        ("get vm w", {"web-1", "web-2"}),
        ("get pools ", {"rack-a"}),
        ("get machine -n lab ", {"lab", "default/web-1", "default/web-2"}),
        ("get machines -o json -n ", {"default", "lab"}),
        ("describe secret ", {"seed"}),
        ("history machine ", MACHINES),
        ("wait machine ", MACHINES),
        ("explain ", {"machines", "volumes", *MACHINES}),
        ("describe machine/w", {"machine/web-1", "machine/web-2"}),
        ("restart web-1 ", MACHINES - {"web-1"}),
        ("cordon pool/", {"pool/rack-a"}),
        ("explain machine ", MACHINES),
        ("cordon ", {"rack-a"}),
        ("drain --force r", {"rack-a"}),
        ("cordon --volume-pool ", set()),
        ("pause web", {"web-1", "web-2"}),
        ("pause machine ", MACHINES),
        ("restart ", MACHINES),
        ("console ", MACHINES),
        ("logs ", MACHINES),
        ("exec ", MACHINES),
        ("tree --pool ", {"rack-a"}),
        ("cordon rack-a ", set()),
        ("get nonsense ", set()),
        ("help GV30", {"GV301", "GV302", "GV303", "GV304", "GV305", "GV306", "GV307", "GV308", "GV309"}),
        ("help tut", {"tutorial"}),
    ],
)
def test_names(fleet: Path, line: str, want: set[str]) -> None:
    found = set(completion.candidates(line.split(" ")))
    assert found == want or ("help GV" in line and found and found <= want)


def test_kinds_and_machines_where_a_kind_may_be_left_out(fleet: Path) -> None:
    assert {*MACHINES, "machines", "volumes"} <= set(completion.candidates(["pause", ""]))


def test_a_repo_that_is_named_is_looked_at(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = str(fleet.parent / "fleet.git")
    monkeypatch.chdir(fleet.parent)
    assert completion.candidates(["get", "machine", ""]) == []
    assert set(completion.candidates(["get", "machine", "--repo", bare, ""])) == MACHINES
    monkeypatch.setenv("GITVIRT_REPO", bare)
    assert set(completion.candidates(["get", "machine", ""])) == MACHINES


def test_completion_is_silent_without_a_fleet(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet.parent / "fleet.git").rename(fleet.parent / "away")
    assert completion.candidates(["get", "machine", ""]) == []
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
