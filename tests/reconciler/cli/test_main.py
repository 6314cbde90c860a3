"""The dispatcher: what is imported when, exit codes, and what a wrong call says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from reconciler.cli.verbs import VERBS

ROOT = Path(__file__).parents[3]


def test_help_names_every_verb_and_imports_none() -> None:
    program = (
        "import sys; from reconciler.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(result.stderr.split())
    assert all(f"  {name} " in result.stdout for name in VERBS)
    assert not {name.split(".")[0] for name in loaded} & {"grpc", "libvirt", "pygit2", "msgspec", "ruamel"}
    assert not {verb.module for verb in VERBS.values()} & loaded


def test_help_groups_the_verbs_and_has_help_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Exit.OK
    text = capsys.readouterr().out
    assert "\nlook:\n  status " in text
    assert "\n  help " in text
    assert all(text.count(f"\n  {name} ") == 1 for name in VERBS)


def test_v_is_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-v"]) == Exit.OK
    assert "gitvirt" in capsys.readouterr().out


def test_unknown_verb_suggests_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versoin"]) == Exit.USAGE
    assert "did you mean `gitvirt version`?" in capsys.readouterr().err


def test_a_near_miss_of_an_action_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["iri", "gte"]) == Exit.USAGE
    assert "did you mean 'get'?" in capsys.readouterr().err


def test_help_goes_as_deep_as_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["help", "iri", "get"])
    assert exit.value.code == Exit.OK
    assert "usage: gitvirt iri get" in capsys.readouterr().out


def test_wrong_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--frobnicate"]) == Exit.USAGE
    assert "gitvirt version --help" in capsys.readouterr().err


def test_versions_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "-o", "json"]) == Exit.OK
    assert set(json.loads(capsys.readouterr().out)) >= {"gitvirt", "python", "pygit2"}


PRINTS = (["--help"], ["validate", "--help"], ["validate", "-o", "json"])


def gitvirt(folder: Path, *arguments: str, redirection: str = "", **environment: str) -> tuple[int, str]:
    """Exit code and standard error of a process of its own, as a shell starts it."""
    command = [
        sys.executable,
        "-c",
        "import sys; from reconciler.cli import main; sys.exit(main())",
        *arguments,
    ]
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return result.returncode, result.stderr


@pytest.mark.parametrize("arguments", PRINTS, ids=" ".join)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_an_answer(tmp_path: Path, arguments: list[str], unbuffered: str) -> None:
    (tmp_path / "something.yaml").write_text("a: b\n")
    code, errors = gitvirt(tmp_path, *arguments, redirection="> /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert code == Exit.FAILED
    assert errors.splitlines()[0] == "error: cannot write the output: No space left on device"
    assert len(errors.splitlines()) == 2


@pytest.mark.parametrize("arguments", [["version"], ["validate", "nowhere"]], ids=" ".join)
@pytest.mark.parametrize("redirection", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_code(tmp_path: Path, arguments: list[str], redirection: str) -> None:
    wanted, _ = gitvirt(tmp_path, *arguments)
    code, errors = gitvirt(tmp_path, *arguments, redirection=redirection)
    assert code == wanted
    assert "Traceback" not in errors


def test_a_closed_standard_input_is_empty(tmp_path: Path) -> None:
    assert gitvirt(tmp_path, "validate", "-", redirection="<&-") == (Exit.OK, "")


def test_characters_outside_of_the_encoding_are_escaped(tmp_path: Path) -> None:
    code, errors = gitvirt(tmp_path, "validate", "caf\u00e9", PYTHONIOENCODING="ascii")
    assert (code, errors.splitlines()[0]) == (Exit.FAILED, "error: caf\\xe9 does not exist")


def test_a_socket_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = "import sys; from reconciler.cli import main; sys.exit(main(['iri', '--address', './x', 'get', 'machine']))"
    result = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$0" -c "$1"', sys.executable, program],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == Exit.USAGE
    assert result.stderr.startswith(
        "error: the current directory was removed, so the relative path './x' cannot"
    )
    assert len(result.stderr.splitlines()) == 2


def test_a_closed_pipe_ends_it_silently() -> None:
    """As `gitvirt ... | head -1` does, by whatever name the system has for that."""
    command = f"{sys.executable} -m reconciler help resources.md; echo $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"({command}) | true"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stderr.strip() in ("141", "0"), done.stderr


def test_a_program_that_reads_no_input_does_not_end_us() -> None:
    """The kernel's signal for a broken pipe must not reach verbs that talk to programs such as git."""
    program = (
        "import sys; from reconciler.cli import main; main(['--version']); from reconciler.gitstore.process import run; "
        "print(run(['true'], {'PATH': '/usr/bin:/bin'}, 10, b'x' * 300_000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "Exited(" in done.stdout


@pytest.mark.parametrize("name", VERBS)
def test_a_summary_is_a_sentence_of_its_help(name: str) -> None:
    assert re.search(r"[^.](\.|\.\.\.)$", VERBS[name].sentence)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_a_verb_ends_with_examples_of_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([name, "--help"])
    assert exit.value.code == Exit.OK
    _, _, examples = capsys.readouterr().out.partition("examples:\n")
    names = [other for other, verb in VERBS.items() if verb.module == VERBS[name].module]
    assert any(f"gitvirt {other}" in examples for other in names)
