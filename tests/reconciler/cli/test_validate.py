"""`gitvirt validate` as people and CI servers call it: paths, revisions, standard input, formats, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.reconciler.gitstore.git import commit, git, init
from tests.schemas.validate.documents import (
    machine,
    machine_class,
    ref,
    secret,
    together,
    uses_volume,
    volume,
    volume_class,
)

ROOT = Path(__file__).parents[3]
SETTINGS = b"fleet:\n  id: 7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00\n"
OTHER_ID = "# a fork?\nfleet:\n  id: 0b1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00\n"
WRONG = machine("wrong", machineClassRef=ref("smal"))


def write_files(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two commits: a machine of a class, then a wrong one beside it. It is the working folder."""
    root = init(tmp_path / "repo")
    base = {
        "gitvirt.yaml": SETTINGS,
        "class.yaml": machine_class().encode(),
        "m/web.yaml": machine().encode(),
    }
    commit(root, base)
    commit(root, {"m/wrong.yaml": WRONG.encode()})
    monkeypatch.chdir(root)
    return root


def call_validate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["validate", *arguments])
    return code, capsys.readouterr().out


def places(text: str) -> list[str]:
    return [f"{each['file']} {each['code']}" for each in json.loads(text)["problems"]]


def test_the_example_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = call_validate(capsys, "--strict", str(ROOT / "examples/repo"))
    assert text.startswith("ok: ")
    assert code == Exit.OK


WEB = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web
spec:
  machineClassRef: {name: small}
"""
ROOT_KEYS = {
    "a field that is nearly one": ("spec:", "specs:", "there is no field 'specs'", "did you mean spec?"),
    "metadata misspelled": ("metadata:", "metdata:", "there is no field 'metdata'", "did you mean metadata?"),
    "a key in other letters": ("kind:", "Kind:", "there is no field 'Kind'", "did you mean kind?"),
    "the version misspelled": ("apiVersion:", "apiversion:", "there is no field 'apiversion'", "did you mean apiVersion?"),
    "a field of no kind": ("spec:", "extra: 1\nspec:", "there is no field 'extra'", ""),
    "the first two lines are missing": ("apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\n", "", "neither apiVersion nor kind", "write both"),
}  # fmt: skip


@pytest.mark.parametrize("strict", [(), ("--strict",)], ids=["", "strict"])
@pytest.mark.parametrize(("old", "new", "message", "hint"), ROOT_KEYS.values(), ids=ROOT_KEYS.keys())
def test_a_mistake_at_the_root_of_a_document_is_an_error(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    strict: tuple[str, ...],
    old: str,
    new: str,
    message: str,
    hint: str,
) -> None:
    """Otherwise the document is another program's, and its object looks deleted."""
    assert old in WEB
    write_files(repo, {"m/web.yaml": WEB.replace(old, new)})
    (repo / "m" / "wrong.yaml").unlink()
    code, text = call_validate(capsys, "--against", "HEAD", *strict)
    assert code == Exit.PROBLEMS
    assert message in text
    assert hint in text
    assert "was removed since" not in text


PUBLISHED = """\
apiVersion: compute.OpenKCM.dev/v1alpha1
kind: MachinePool
metadata:
  name: machinepool-sample
spec:
  providerID: OpenKCM://shared
status:
  state: Ready
  availableMachineClasses:
    - name: machineclass-sample
---
apiVersion: compute.OpenKCM.dev/v1alpha1
kind: MachineClass
metadata:
  name: machineclass-sample
capabilities:
  cpu: 4
  memory: 16Gi
---
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: machine-sample
spec:
  machineClassRef:
    name: machineclass-sample
  machinePoolRef:
    name: machinepool-sample
"""


def test_published_samples_are_fine_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"samples.yaml": PUBLISHED})
    monkeypatch.chdir(tmp_path)
    code, text = call_validate(capsys, "-o", "json", "--strict", "samples.yaml")
    assert code == Exit.OK
    assert places(text) == ["samples.yaml GV362"]


def test_a_small_repo_loads_only_what_it_takes() -> None:
    program = "import sys; from reconciler.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, "validate", str(ROOT / "examples/repo")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "jsonschema_rs" in loaded
    assert not loaded & {
        "grpc",
        "libvirt",
        "pygit2",
        "ruamel",
        "multiprocessing",
        "concurrent",
        "jsonschema",
        "xml",
    }


def test_the_repo_around_here(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = call_validate(capsys)
    assert code == Exit.PROBLEMS
    assert "m/wrong.yaml:1:" in text
    assert 'error GV310 there is no MachineClass "smal"' in text
    assert 'hint: did you mean "small"?' in text
    assert "1 error: 3 objects in 3 files (" in text


@pytest.mark.parametrize(
    ("here", "paths", "want"),
    [
        (".", ["m"], ["m/wrong.yaml GV310"]),
        (".", ["m/web.yaml"], []),
        (".", ["m/web.yaml", "m/wrong.yaml"], ["m/wrong.yaml GV310"]),
        ("m", [], ["../m/wrong.yaml GV310"]),
        ("..", ["repo"], ["repo/m/wrong.yaml GV310"]),
    ],
)
def test_paths(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    here: str,
    paths: list[str],
    want: list[str],
) -> None:
    monkeypatch.chdir(repo / here)
    code, text = call_validate(capsys, "-o", "json", *paths)
    assert places(text) == want
    assert code == (Exit.PROBLEMS if want else Exit.OK)


def test_a_finding_concerns_every_file_it_is_about(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a hook passes may be the file that came first: the finding is in the other."""
    write_files(repo, {"a.yaml": volume("data"), "b.yaml": volume("data"), "c.yaml": volume_class()})
    assert places(call_validate(capsys, "-o", "json", "a.yaml")[1]) == ["b.yaml GV301"]
    assert places(call_validate(capsys, "-o", "json", "c.yaml")[1]) == []


def test_paths_that_differ_only_in_case_are_a_warning(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"notes.txt": "", "Notes.txt": ""})
    assert "Notes.txt GV813" in places(call_validate(capsys, "-o", "json")[1])


def test_files_outside_of_any_repo_are_all_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"m.yaml": machine(), "class.yaml": machine_class(), "broken.yaml": "{["})
    monkeypatch.chdir(tmp_path)
    assert places(call_validate(capsys, "-o", "json", "m.yaml")[1]) == ["m.yaml GV310"]
    assert places(call_validate(capsys, "-o", "json", "m.yaml", "class.yaml")[1]) == []


def test_named_files_that_are_not_manifests(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"notes.txt": "x", "web.yaml.bak": "x", "README.md": "x"})
    assert places(call_validate(capsys, "-o", "json", "notes.txt")[1]) == ["notes.txt GV361"]
    assert places(call_validate(capsys, "-o", "json")[1]) == ["m/wrong.yaml GV310", "web.yaml.bak GV361"]


def test_ignored_paths(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {f"{folder}/m.yaml": WRONG for folder in (".venv/lib", "docs", "m/old", "m/.cache", "m/kept")}
    write_files(repo, {**wrong, "m/wrong.yaml": machine("right"), ".gitvirtignore": "docs/\nold\nm/[a\n"})
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "more")
    want = [".gitvirtignore GV114", "m/kept/m.yaml GV310"]
    assert places(call_validate(capsys, "-o", "json")[1]) == want
    assert places(call_validate(capsys, "-o", "json", "--rev", "HEAD")[1]) == want
    assert places(call_validate(capsys, "-o", "json", "docs/m.yaml")[1]) == []


def test_documents_of_other_kinds_are_counted(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(
        repo, {"m/wrong.yaml": together("kind: Pod\napiVersion: v1\nmetadata: {name: a}", machine("b"))}
    )
    code, text = call_validate(capsys)
    assert code == Exit.OK
    assert text.startswith("ok: 3 objects in 3 files, 1 document of other kinds ignored (")
    assert places(call_validate(capsys, "-o", "json", "--foreign")[1]) == ["m/wrong.yaml GV221"]


def test_a_file_in_gitvirts_own_folder(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {".gitvirt/pools/x.yaml": "a: b", ".gitvirt/orphans/x.yaml": "a: b"})
    code, text = call_validate(capsys, "-o", "json", ".gitvirt")
    assert places(text) == [".gitvirt/pools/x.yaml GV360"]
    assert code == Exit.PROBLEMS


@pytest.mark.parametrize("arguments", [["nowhere"], ["--against", "nowhere"], ["--rev", "nowhere"]])
def test_a_missing_path_is_an_error(
    repo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["validate", *arguments]) == Exit.FAILED
    shown = capsys.readouterr()
    assert "nowhere" in shown.err
    assert not shown.out


def test_a_revision_outside_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "--rev", "HEAD"]) == Exit.FAILED
    assert main(["validate", "--against", "HEAD"]) == Exit.FAILED
    assert "not in a Git repo" in capsys.readouterr().err


def test_a_pipe_that_is_named_is_refused_rather_than_passed_over(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repo / "pipe.yaml")
    assert main(["validate", "pipe.yaml"]) == Exit.FAILED
    assert main(["validate", "/dev/null"]) == Exit.FAILED
    assert "pipe it into `gitvirt validate -`" in capsys.readouterr().err


def test_a_link_to_a_repo_names_it(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "folder").symlink_to("m")
    assert places(call_validate(capsys, "-o", "json", "folder")[1]) == ["folder GV181"]
    monkeypatch.chdir(repo.parent)
    Path("link").symlink_to("repo")
    assert "link/m/wrong.yaml GV310" in places(call_validate(capsys, "-o", "json", "link")[1])


def test_a_working_folder_that_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["validate"]) == Exit.FAILED
    assert "the working directory does not exist any more" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-", "x"], ["-o", "xml"], ["--rev", "HEAD", "-"]])
def test_wrong_usage(repo: Path, arguments: list[str]) -> None:
    assert main(["validate", *arguments]) == Exit.USAGE


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--rev", "HEAD~1"], []),
        (["--rev", "HEAD"], ["m/wrong.yaml GV310"]),
        (["--rev", "main", "m"], ["m/wrong.yaml GV310"]),
        (["--rev", "HEAD", "m/web.yaml"], []),
    ],
)
def test_a_revision(
    repo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], want: list[str]
) -> None:
    write_files(repo, {"class.yaml": "{[ not what is committed", "m/wrong.yaml": "either"})
    assert places(call_validate(capsys, "-o", "json", *arguments)[1]) == want


def test_a_revision_of_a_bare_repo(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    monkeypatch.chdir(tmp_path)
    assert places(call_validate(capsys, "-o", "json", "--rev", "main", "bare.git")[1]) == [
        "m/wrong.yaml GV310"
    ]


def test_a_folder_of_a_revision_with_settings_of_its_own(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(repo, {"site/gitvirt.yaml": SETTINGS, "site/m.yaml": machine().encode()})
    assert places(call_validate(capsys, "-o", "json", "--rev", "HEAD", "site")[1]) == ["site/m.yaml GV310"]


def test_links_and_submodules_of_a_revision(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "out.yaml").symlink_to("/etc/passwd")
    (repo / "in.yaml").symlink_to("m/web.yaml")
    (repo / "m/up.yaml").symlink_to("../../elsewhere")
    init(repo / "module")
    commit(repo / "module", {"m.yaml": WRONG.encode()})
    commit(repo, {"m/wrong.yaml": machine("right").encode()})
    want = ["in.yaml GV181", "m/up.yaml GV181", "module GV182", "out.yaml GV181"]
    for arguments in (["--rev", "HEAD"], []):
        text = call_validate(capsys, "-o", "json", *arguments)[1]
        assert places(text) == want
        severities = [each["severity"] for each in json.loads(text)["problems"]]
        assert severities == ["notice", "warning", "warning", "warning"]


def test_against_a_revision(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"class.yaml": machine_class(cpu="2"), "m/wrong.yaml": machine("right")})
    assert call_validate(capsys)[0] == Exit.OK
    code, text = call_validate(capsys, "-o", "json", "--against", "HEAD")
    assert (code, places(text)) == (Exit.PROBLEMS, ["class.yaml GV402"])
    assert call_validate(capsys, "--against", "HEAD", "m/web.yaml")[0] == Exit.OK


@pytest.mark.parametrize(
    ("files", "removed", "want"),
    [
        ({"m/web.yaml": ""}, [], "m/web.yaml"),
        ({"m/web.yaml": "\ufeff---\n# nothing\n"}, [], "m/web.yaml"),
        ({".gitvirtignore": "m/web.yaml\n"}, [], "m/web.yaml"),
        ({"m/web.yaml.gpg": "\x85"}, ["m/web.yaml"], "m/web.yaml.gpg"),
        ({"m/web.txt": machine()}, ["m/web.yaml"], "m/web.txt"),
    ],
)
def test_a_file_that_lost_its_objects_is_an_error_before_the_merge(
    repo: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], removed: list[str], want: str
) -> None:
    write_files(repo, {**files, "m/wrong.yaml": machine("right")})
    for path in removed:
        (repo / path).unlink()
    code, text = call_validate(capsys, "-o", "json", "--against", "HEAD")
    assert (code, places(text)) == (Exit.PROBLEMS, [f"{want} GV416"])
    assert "Machine/default/web at HEAD" in json.loads(text)["problems"][0]["message"]
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "the file lost its objects")
    revisions = ["--rev", "HEAD", "--against", "HEAD~1"]
    assert places(call_validate(capsys, "-o", "json", *revisions)[1]) == [f"{want} GV416"]
    (repo / want).unlink()
    assert call_validate(capsys, "--against", "HEAD~1")[0] == Exit.OK


def test_a_file_that_declares_nothing_is_a_notice(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"m/wrong.yaml": machine("right"), "m/new.yaml": ""})
    for arguments in ([], ["--against", "HEAD"]):
        code, text = call_validate(capsys, "-o", "json", "--strict", *arguments)
        assert (code, places(text)) == (Exit.OK, ["m/new.yaml GV115"])


@pytest.mark.parametrize(
    ("text", "arguments", "want"),
    [
        (OTHER_ID, [], "gitvirt.yaml GV816"),
        (OTHER_ID, ["gitvirt.yaml"], "gitvirt.yaml GV816"),
        (None, [], "gitvirt.yaml GV601"),
    ],
)
def test_a_change_that_would_freeze_the_fleet(
    repo: Path, capsys: pytest.CaptureFixture[str], text: str | None, arguments: list[str], want: str
) -> None:
    commit(repo, {"m/wrong.yaml": machine("right").encode()})
    path = repo / "gitvirt.yaml"
    path.unlink() if text is None else path.write_text(text)
    code, report = call_validate(capsys, "-o", "json", "--against", "HEAD", *arguments)
    assert (code, places(report)) == (Exit.PROBLEMS, [want])
    found = json.loads(report)["problems"][0]
    assert (found["line"], "fleet.id" in found["message"] + found["hint"]) == (3 if text else 0, True)
    assert main(["validate", "--against", "HEAD"]) == Exit.PROBLEMS
    assert "gitvirt init` writes" not in capsys.readouterr().err  # it would have another id
    assert call_validate(capsys, "--against", "HEAD", "m/web.yaml")[0] == Exit.OK
    git(repo, "commit", "-aqm", "freeze")
    revisions = ["--rev", "HEAD", "--against", "HEAD~1"]
    assert places(call_validate(capsys, "-o", "json", *revisions)[1]) == [want]
    assert call_validate(capsys, "--against", "HEAD")[0] == Exit.OK


def test_a_revision_against_another(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(repo, {"class.yaml": machine_class(cpu="2").encode(), "m/wrong.yaml": machine("right").encode()})
    text = call_validate(capsys, "-o", "json", "--rev", "HEAD", "--against", "HEAD~1")[1]
    assert places(text) == ["class.yaml GV402"]
    assert call_validate(capsys, "--rev", "HEAD", "--against", "HEAD")[0] == Exit.OK


def test_against_with_a_repo_in_a_folder(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = {
        "site/gitvirt.yaml": SETTINGS,
        "site/c.yaml": machine_class().encode(),
        "site/m.yaml": machine().encode(),
    }
    commit(repo, site)
    write_files(repo, {"site/c.yaml": machine_class(cpu="2")})
    assert places(call_validate(capsys, "-o", "json", "--against", "HEAD", "site")[1]) == [
        "site/c.yaml GV402"
    ]


def test_the_target_branch_may_hold_what_the_reconciler_writes(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repo, "checkout", "--quiet", "-b", "live")
    web = machine(metadata={"uid": "1"}, status={"state": "Running"}).encode()
    commit(repo, {"m/web.yaml": web, "m/wrong.yaml": b"", ".gitvirt/pools/x.yaml": b""})
    empty = [".gitvirt/pools/x.yaml GV115", "m/wrong.yaml GV115"]
    assert places(call_validate(capsys, "-o", "json")[1]) == empty
    assert places(call_validate(capsys, "-o", "json", "--rev", "live")[1]) == empty
    git(repo, "checkout", "--quiet", "-b", "other")
    found = places(call_validate(capsys, "-o", "json")[1])
    assert found == [
        ".gitvirt/pools/x.yaml GV360",
        "m/web.yaml GV363",
        "m/web.yaml GV362",
        "m/wrong.yaml GV115",
    ]


def pipe_into(repo: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reconciler", "validate", "-o", "json", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=repo, input=text, capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize(
    ("text", "arguments", "want"),
    [
        (machine("new"), ["-"], []),
        (WRONG, ["-"], ["<stdin> GV310"]),
        (machine("web", machineClassRef=ref("smal")), ["-"], ["<stdin> GV310"]),
        (machine("wrong"), ["-", "--stdin-name", "m/wrong.yaml"], []),
        (machine("web"), ["-", "--stdin-name", "m/wrong.yaml"], ["m/wrong.yaml GV301"]),
        ("{[", ["-"], ["<stdin> GV101"]),
    ],
)
def test_standard_input(repo: Path, text: str, arguments: list[str], want: list[str]) -> None:
    done = pipe_into(repo, text, *arguments)
    assert places(done.stdout) == want
    assert done.returncode == (Exit.PROBLEMS if want else Exit.OK)


def test_standard_input_outside_of_any_repo(tmp_path: Path) -> None:
    write_files(tmp_path, {"class.yaml": machine_class()})
    assert places(pipe_into(tmp_path, machine(), "-").stdout) == ["<stdin> GV310"]
    assert places(pipe_into(tmp_path, together(machine(), machine_class()), "-").stdout) == []


def test_warnings_fail_only_with_strict(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"m/wrong.yaml": machine("right"), "m/link.yaml": ""})
    (repo / "m/link.yaml").unlink()
    (repo / "m/link.yaml").symlink_to("nowhere")
    assert call_validate(capsys)[0] == Exit.OK
    assert call_validate(capsys, "--strict")[0] == Exit.PROBLEMS


def test_settings_are_checked_and_hold(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(
        repo,
        {"m/wrong.yaml": machine("right", machinePoolRef=ref("x")), "s.yaml": secret(stringData={"a": "b"})},
    )
    assert places(call_validate(capsys, "-o", "json")[1]) == ["m/wrong.yaml GV312", "s.yaml GV510"]
    open_settings = SETTINGS.decode() + "pools: declared\nsecrets: {plain: allow}\n"
    write_files(repo, {"gitvirt.yaml": open_settings})
    code, text = call_validate(capsys, "-o", "json")
    assert (code, places(text)) == (Exit.PROBLEMS, ["m/wrong.yaml GV312"])
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "settings")
    assert places(call_validate(capsys, "-o", "json", "--rev", "HEAD")[1]) == ["m/wrong.yaml GV312"]
    write_files(repo, {"gitvirt.yaml": "fleet: {}\n"})
    assert "gitvirt.yaml GV202" in places(call_validate(capsys, "-o", "json")[1])


def test_every_format_tells_the_same(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = {
        output: call_validate(capsys, "-o", output) for output in ("text", "json", "junit", "sarif", "github")
    }
    assert {code for code, _ in report.values()} == {Exit.PROBLEMS}
    assert all("GV310" in text and "smal" in text for _, text in report.values())
    assert ElementTree.fromstring(report["junit"][1]).attrib["failures"] == "1"
    assert json.loads(report["sarif"][1])["runs"][0]["results"][0]["ruleId"] == "GV310"
    assert report["github"][1].startswith("::error file=m/wrong.yaml,line=1,col=")


@pytest.mark.parametrize("output", ["text", "json", "junit", "sarif", "github"])
def test_no_value_of_a_secret_is_ever_shown(
    repo: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    hidden = "hunter2-do-not-tell"
    wrong = [
        secret("plain", stringData={"password": hidden}),
        secret("list", stringData={"password": [hidden]}),
        secret("nobase", data={"password": f"!{hidden}!"}),
        secret("where", password=hidden),
        secret("type", type=[hidden]),
        secret("all", stringData=hidden),
        secret("immutable", immutable=hidden),
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  a: {hidden}\n  a: {hidden}\n",
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  a: '{hidden}\n",
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  a: {hidden}: b\n",
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{a: {hidden}\n",
    ]
    write_files(repo, {f"s{number}.yaml": text for number, text in enumerate(wrong)})
    code, text = call_validate(capsys, "-o", output)
    assert code == Exit.PROBLEMS
    assert text.count("GV") >= len(wrong)
    assert hidden not in text


def test_a_folder_full_of_trouble_is_only_findings(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trouble = {
        "binary.yaml": bytes(range(256)),
        "latin.yaml": "name: café".encode("latin-1"),
        "empty.yaml": b"",
        "nothing.json": b"",
        "bomb.yaml": b"a0: &a0 [x,x]\n"
        + b"".join(b"a%d: &a%d [*a%d,*a%d,*a%d]\n" % (n, n, n - 1, n - 1, n - 1) for n in range(1, 30)),
        "deep.yaml": b"[" * 100_000,
        "tabs.yaml": b"a:\n\tb: c\n",
        "twice.yaml": b"a: 1\na: 2\n",
        "number.json": b'{"a": ' + b"9" * 400 + b"}",
        "nan.yaml": machine_class("nan", cpu=".nan").encode(),
        "list.yaml": b"- a\n- b\n",
    }
    for path, data in trouble.items():
        (repo / path).write_bytes(data)
    (repo / "link.yaml").symlink_to("link.yaml")
    (repo / "up").symlink_to("..")
    os.mkfifo(repo / "pipe.yaml")
    (repo / os.fsdecode(b"odd\n\xff.yaml")).write_text(volume("data"))
    (repo / "folder.yaml").mkdir()
    code, text = call_validate(capsys, "-o", "json")
    assert code == Exit.PROBLEMS
    found = {each["file"]: each for each in json.loads(text)["problems"]}
    assert found["odd\n\\xff.yaml"]["code"] in {"GV184", "GV310"}
    assert {"binary.yaml", "latin.yaml", "deep.yaml", "tabs.yaml", "link.yaml", "pipe.yaml", "up"} <= set(
        found
    )
    assert found["bomb.yaml"]["code"] == "GV104"
    assert {"list.yaml", "folder.yaml"}.isdisjoint(found)
    assert {found[name]["code"] for name in ("empty.yaml", "nothing.json")} == {"GV115"}


def test_the_volume_of_another_file_is_found(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(repo, {"m/wrong.yaml": machine("right", volumes=[uses_volume("data")])})
    assert places(call_validate(capsys, "-o", "json")[1]) == ["m/wrong.yaml GV310"]
    write_files(repo, {"v.json": together(volume("data")), "c.yml": volume_class()})
    assert places(call_validate(capsys, "-o", "json")[1]) == []


def test_a_folder_without_manifests_is_not_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path)]) == Exit.FAILED
    assert f"there are no manifests in {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[""], ["--stdin-name", "a.yaml"], ["m", ""]])
def test_ambiguous_arguments_are_wrong_usage(
    repo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["validate", *arguments]) == Exit.USAGE
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_repo_without_settings_is_noted(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == Exit.PROBLEMS
    assert "note:" not in capsys.readouterr().err
    (repo / "gitvirt.yaml").unlink()
    assert main(["validate"]) == Exit.PROBLEMS
    shown = capsys.readouterr().err
    assert f"note: no gitvirt.yaml in {repo}" in shown
    assert "`gitvirt init` writes it" in shown
    for words in (["-o", "json"], ["m/web.yaml"]):
        main(["validate", *words])
        assert "note:" not in capsys.readouterr().err
