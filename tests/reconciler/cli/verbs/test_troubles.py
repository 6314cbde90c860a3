"""What can be wrong around a verb, for every verb: one line of cause, one of cure, the right exit code, and no secret."""

from __future__ import annotations

import shlex
import uuid
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import gitvirt
from tests.reconciler.gitstore.git import commit, git, init
from tests.servers.web import WebServer

Capture = pytest.CaptureFixture[str]

# Each as a person would call it; `{repo}` is where --repo goes.
OF_ONE = ("describe machine web-1", "history machine web-1", "get machine web-1")
OF_ALL = ("get machines", "tree", "top", "events")
WAITING = ("wait machine web-1 --timeout 30s",)
CHANGING = (
    "cordon rack-a",
    "uncordon rack-a",
    "drain rack-a",
    "pause web-1",
    "resume web-1",
    "restart web-1",
)
WATCHING = ("get machines --watch", "tree --watch", "top --watch", "events --watch")
READING = (*OF_ALL, *OF_ONE, *WAITING)
PLANNING = ("plan", "explain machine web-1")
RUNNING = ("run --once",)
EVERY = (*READING, *CHANGING, *WATCHING, *PLANNING, *RUNNING)
SECRET = "s3cr3t-t0k3n"


def refuse(capsys: Capture, words: str, code: Exit) -> tuple[str, str]:
    """Cause and cure of a verb that ends with this code."""
    found = gitvirt(*shlex.split(words))
    output = capsys.readouterr().err
    assert found == code, output
    assert "Traceback" not in output
    assert SECRET not in output
    lines = output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("error: "))
    assert len(lines) == start + 2, output
    assert lines[-1].startswith("  ")
    assert lines[-1].strip()
    return lines[start].removeprefix("error: "), lines[-1].strip()


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, which is in no repo."""
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GITVIRT_REPO", raising=False)
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("words", PLANNING)
def test_a_folder_outside_of_git_can_be_planned_on_if_it_has_settings(capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, words, Exit.USAGE)
    assert "is not in a Git repo, and there is no gitvirt.yaml" in cause
    assert "gitvirt init" in cure


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("words", [each for each in EVERY if each not in PLANNING])
def test_no_repo(capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, words, Exit.USAGE)
    assert "is not in a Git repo" in cause
    assert "--repo" in cure


@pytest.fixture
def foreign(alone: Path) -> Path:
    """A Git repo of something else, bare; the working folder is in no repo."""
    work = init(alone.parent / "work")
    git(work, "checkout", "-q", "-b", "main")
    commit(work, {"README.md": b"something else"})
    git(alone.parent, "clone", "-q", "--bare", str(work), "foreign.git")
    return alone.parent / "foreign.git"


@pytest.mark.parametrize("words", EVERY)
def test_a_repo_of_something_else(foreign: Path, capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, f"{words} --repo {foreign}", Exit.FAILED)
    assert "gitvirt.yaml" in cause
    assert "gitvirt init" in cure


@pytest.fixture
def broken(fleet: Path) -> Path:
    commit(fleet, {"gitvirt.yaml": b"fleet: {id: nope}\n"}, "break it")
    git(fleet, "push", "-q", "origin", "main")
    return fleet


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("words", CHANGING)
def test_broken_settings_stop_a_change(capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, words, Exit.PROBLEMS)
    assert cause == "gitvirt.yaml on main has problems"
    assert "gitvirt validate" in cure


@pytest.mark.parametrize("words", READING)
def test_reading_verbs_print_a_note_about_broken_settings(broken: Path, capsys: Capture, words: str) -> None:
    assert gitvirt(*shlex.split(words)) == Exit.OK
    output = capsys.readouterr().err
    began = git(broken, "rev-parse", "--short=7", "main~1")
    note = f"gitvirt.yaml on main has problems; using its last usable version (commit {began}): run `gitvirt validate`"
    assert output.count("gitvirt.yaml on main") == output.count(note) == 1


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/f.git", "ssh://127.0.0.1:1/f.git", "{here}/gone.git"]
)
@pytest.mark.parametrize("words", EVERY)
def test_a_remote_that_does_not_answer(tmp_path: Path, capsys: Capture, words: str, address: str) -> None:
    place = address.format(here=tmp_path)
    cause, cure = refuse(capsys, f"{words} --repo {place}", Exit.FAILED)
    assert cause != cure
    assert "by itself" not in cure or "reconciler" in cure


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("words", EVERY)
def test_a_path_that_does_not_exist_is_named(capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, f"{words} --repo /nope", Exit.FAILED)
    assert cause == "/nope does not exist"
    assert "--repo" in cure


@pytest.mark.parametrize("words", [*OF_ALL, *CHANGING])
def test_files_that_are_only_uncommitted_do_not_count(alone: Path, capsys: Capture, words: str) -> None:
    git(alone, "init", "-q", "-b", "main")
    gitvirt("init")
    capsys.readouterr()
    cause, cure = refuse(capsys, words, Exit.FAILED)
    assert cause.endswith("the repo has no commits yet")
    assert cure.startswith("commit the files of your checkout")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "address",
    [
        f"https://ann:{SECRET}@127.0.0.1:1/fleet.git",
        f"https://{SECRET}@127.0.0.1:1/fleet.git",
        f"https://127.0.0.1:1/fleet.git?private_token={SECRET}",
        f"ssh://ann:{SECRET}@127.0.0.1:1/fleet.git",
        f"https://ann:{SECRET}@127.0.0.1:one/fleet.git",
        f"https://ann:{SECRET}@/fleet.git",
        f"htps://ann:{SECRET}@127.0.0.1/fleet.git",
    ],
)
@pytest.mark.parametrize("words", EVERY)
def test_a_token_in_an_address_is_never_printed(capsys: Capture, words: str, address: str) -> None:
    refuse(capsys, f"{words} --repo {address}", Exit.FAILED)


@pytest.mark.parametrize("words", [*READING, *CHANGING])
def test_a_token_in_the_address_of_origin_is_never_printed(fleet: Path, capsys: Capture, words: str) -> None:
    git(fleet, "remote", "set-url", "origin", f"https://ann:{SECRET}@127.0.0.1:1/fleet.git")
    refuse(capsys, words, Exit.FAILED)


@pytest.mark.parametrize("words", ["cordon rack-a", "drain rack-a", "pause web-1", "restart web-1"])
def test_a_server_whose_hook_says_no(fleet: Path, capsys: Capture, words: str) -> None:
    hook = fleet.parent / "fleet.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho main is protected; echo ask the admins; exit 1\n")
    hook.chmod(0o755)
    cause, cure = refuse(capsys, words, Exit.FAILED)
    assert cause.startswith("the server refused the push: main is protected; ask the admins")
    assert "--branch" in cure
    cause, cure = refuse(capsys, f"{words} --branch review", Exit.FAILED)
    assert cause.startswith("the server refused the push: main is protected; ask the admins")
    assert cure == "the server has a rule about that branch: choose another name, or ask its administrator"


@pytest.mark.parametrize("words", ["cordon rack-a", "restart web-1"])
def test_a_server_that_allows_only_reading(
    fleet: Path, web: WebServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    repo = web.repos / f"read-only-{words.split()[0]}-{uuid.uuid4().hex}.git"
    git(fleet.parent, "clone", "-q", "--mirror", "fleet.git", str(repo))
    git(repo, "config", "http.receivepack", "false")
    web.allow("reader", SECRET)
    monkeypatch.setenv("GITVIRT_USERNAME", "reader")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ann@example.org")
    monkeypatch.setenv("GITVIRT_TOKEN", SECRET)
    address = web.url(repo.name)
    assert gitvirt("get", "machines", "--repo", address) == Exit.OK
    capsys.readouterr()
    cause, cure = refuse(capsys, f"{words} --repo {address}", Exit.FAILED)
    assert "403" in cause
    assert "right" in cure


@pytest.mark.parametrize(
    ("words", "cause", "cure"),
    [
        (f"{verb} machine {name}", f"there is no Machine {name} in namespace default", cure)
        for verb in ("get", "describe", "history")
        for name, cure in (("web-9", "did you mean web-"), ("zzz", "`gitvirt get machines -A` lists"), ("lab", "-n lab"))
    ]
    + [
        (f"{verb} {name}", f"there is no Machine {name} in namespace default", cure)
        for verb in ("pause", "resume", "restart")
        for name, cure in (("web-9", "did you mean web-"), ("zzz", "`gitvirt get machines -A` lists"), ("lab", "-n lab"))
    ]
    + [
        (f"{verb} {name}", f"there is no MachinePool {name}", cure)
        for verb in ("cordon", "uncordon", "drain")
        for name, cure in (("rack-x", "did you mean rack-a?"), ("zzz", "`gitvirt get machinepools` lists"))
    ]
    + [
        ("explain machine web-9", "there is no Machine/default/web-9", "did you mean web-"),
        ("explain machine zzz", "there is no Machine/default/zzz", "gitvirt get machines -A"),
        ("tree --pool rack-x", "there is no MachinePool rack-x", "did you mean rack-a?"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("fleet")
def test_a_name_that_is_not_there(capsys: Capture, words: str, cause: str, cure: str) -> None:
    output = refuse(capsys, words, Exit.FAILED)
    assert output[0] == cause
    assert cure in output[1]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    "words", ["get {}", "describe {} x", "history {} x", "wait {} x", "explain {} x", "pause {} x"]
)
@pytest.mark.parametrize(("kind", "near"), [("machin", "machine"), ("volum", "volume")])
def test_a_kind_that_there_is_not(capsys: Capture, words: str, kind: str, near: str) -> None:
    cause, cure = refuse(capsys, words.format(kind), Exit.USAGE)
    assert f"unknown kind {kind!r}" in cause
    assert f"did you mean {near}" in cure


@pytest.mark.usefixtures("fleet")
def test_a_word_that_is_like_no_kind(capsys: Capture) -> None:
    cause, cure = refuse(capsys, "get qqq", Exit.USAGE)
    assert "unknown kind 'qqq'" in cause
    assert "there are: machineclasses" in cure
    cause, cure = refuse(capsys, "describe qqq web-1", Exit.FAILED)  # the names of two machines
    assert "there is no Machine" in cause
    assert "gitvirt get machines" in cure


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("words", "cause", "cure"),
    [
        ("machine web-2 --for state=Runing", "unknown state Runing of a Machine", "did you mean Running? there are: Pending, Running, "),
        ("machine web-2 --for status.state=running", "unknown state running of a Machine", "did you mean Running?"),
        ("pool rack-a --for state=Running", "unknown state Running of a MachinePool", "there are: Ready, Pending, Error, Offline"),
        ("volume absent --for state=zzz", "unknown state zzz of a Volume", "there are: Pending, Available, Error"),
        ("secret seed", "a Secret has no state to wait for", "deleted"),
        ("machine web-1 --for bogus=", "a Machine has no field bogus", "state=STATE, condition=TYPE, PATH=VALUE"),
        ("machine web-1 --for bogus", "argument --for: 'bogus' cannot be waited for", "state=STATE, condition=TYPE, PATH=VALUE"),
        ("machine web-1 --for Shutdown", "argument --for: 'Shutdown' cannot be waited for", "did you mean state=Shutdown?"),
        ("machine web-1 --for state=", "--for state= does not say which", "there are: Pending, Running, "),
        ("machine web-1 --for condition=", "--for condition= does not say which", "condition=TYPE"),
    ],
)  # fmt: skip
def test_waiting_for_an_unknown_state_is_wrong_usage(
    capsys: Capture, words: str, cause: str, cure: str
) -> None:
    output = refuse(capsys, f"wait {words}", Exit.USAGE)
    assert output[0] == cause
    assert cure in output[1]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("name", "cure"),
    [("web-9", "did you mean web-"), ("zzz", "`gitvirt get machines -A` lists them")],
)
def test_waiting_for_a_missing_object_prints_a_hint_at_once(capsys: Capture, name: str, cure: str) -> None:
    assert gitvirt("wait", "machine", name, "--timeout", "1s") == Exit.TIMED_OUT
    first_line, _, cured = capsys.readouterr().err.splitlines()
    assert first_line.startswith(f"waiting for Machine/default/{name}, which does not exist yet; {cure}")
    assert cured.strip().startswith(cure)


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("words", "cause", "cure"),
    [
        (
            "describe machine ''",
            "'' is not a name",
            "NAME or NAMESPACE/NAME; `gitvirt get machines -A` lists",
        ),
        ("get machine lab/", "'lab/' is not a name", "NAME or NAMESPACE/NAME"),
        ("history machine /web-1", "'/web-1' is not a name", "NAME or NAMESPACE/NAME"),
        ("wait machine a/b/c", "'a/b/c' is not a name", "NAME or NAMESPACE/NAME"),
        ("restart ''", "'' is not a name", "NAME or NAMESPACE/NAME"),
        ("explain machine ../web-1/x", "'../web-1/x' is not a name", "NAME or NAMESPACE/NAME"),
        ("cordon ''", "'' is not a name", "write NAME; `gitvirt get machinepools` lists"),
        ("cordon ../../rack-a", "'../../rack-a' is not a name: a MachinePool has no namespace", "write NAME"),
        (
            "describe pool lab/rack-a",
            "'lab/rack-a' is not a name: a MachinePool has no namespace",
            "write NAME",
        ),
        ("console ''", "invalid machine name ''", "[NAMESPACE/]NAME"),
    ],
)
def test_an_invalid_name_is_refused(capsys: Capture, words: str, cause: str, cure: str) -> None:
    output = refuse(capsys, words, Exit.USAGE)
    assert output[0] == cause
    assert cure in output[1]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("key", ["tier in (web)", "-tier", "Zone.example/x", "a/b/c", "x" * 70 + "/"])
def test_an_invalid_label_key_is_refused(capsys: Capture, key: str) -> None:
    cause, cure = refuse(capsys, f"get machines --label='{key}=web'", Exit.USAGE)
    assert cause.endswith(f"{key!r} is not a label key")
    assert cure.startswith("write KEY=VALUE")


@pytest.fixture
def young(fleet: Path) -> Path:
    """No reconciler has been here."""
    git(fleet, "push", "-q", "origin", "--delete", "live")
    return fleet


@pytest.mark.usefixtures("young")
@pytest.mark.parametrize("words", [each for each in READING if each not in (*WAITING, "events")])
def test_no_live_yet(capsys: Capture, words: str) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    assert "there is no branch live yet" in capsys.readouterr().err


@pytest.mark.usefixtures("young")
def test_wait_without_live(capsys: Capture) -> None:
    cause, cure = refuse(capsys, "wait machine web-1 --timeout 1s", Exit.TIMED_OUT)
    assert "it does not exist on the target branch" in cause
    assert "gitvirt describe Machine/default/web-1" in cure


@pytest.mark.usefixtures("young")
@pytest.mark.parametrize("words", CHANGING)
def test_declared_objects_can_be_changed_before_there_is_a_live(capsys: Capture, words: str) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    capsys.readouterr()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("words", "code", "cause", "cure"),
    [
        ("validate", Exit.FAILED, "there are no manifests in", "name the folder"),
        ("validate nowhere.yaml", Exit.FAILED, "nowhere.yaml does not exist", "name a folder or files"),
        ("validate --rev HEAD", Exit.FAILED, "is not in a Git repo", "--rev needs"),
        ("poollet", Exit.FAILED, "cannot read /etc/gitvirt/poollet.yaml", "--config FILE"),
        ("poollet --name 'Bad Name' --repo r --socket s", Exit.USAGE, "is not a name for a poollet", "use lower case"),
        ("runtime simulatd", Exit.USAGE, "invalid choice", "did you mean 'simulated'?"),
        ("runtime simulated --listen nowhere:x", Exit.USAGE, "nowhere", "--help"),
        ("iri --address /nonexistent/s get machine", Exit.FAILED, "no socket at", "is the runtime running?"),
        ("iri gte", Exit.USAGE, "invalid choice", "did you mean 'get'?"),
        ("console web-1 --address /nonexistent/s", Exit.FAILED, "no socket at", "is the runtime running?"),
        ("comment nowhere.md", Exit.FAILED, "cannot read nowhere.md", "gitvirt plan -o markdown"),
        ("completion tcsh", Exit.USAGE, "'tcsh' is none of", "--help"),
        ("completion bash x", Exit.USAGE, "unrecognized arguments: x", "gitvirt completion --help"),
        ("init ''", Exit.USAGE, "'' is not a folder", "leave it out for the one you are in"),
        ("init --refork", Exit.FAILED, "gitvirt.yaml does not exist", "gitvirt init"),
        ("help concpets", Exit.USAGE, "unknown verb or topic", "gitvirt help concepts"),
        ("help GV999", Exit.USAGE, "unknown verb or topic", "codes such as GV301"),
        ("gte machines", Exit.USAGE, "gitvirt has no verb 'gte'", "did you mean `gitvirt get`?"),
        ("get", Exit.USAGE, "required: KIND", "gitvirt get --help"),
        ("get pools,machins", Exit.USAGE, "unknown kind 'machins'", "did you mean machines?"),
        ("version --frob", Exit.USAGE, "unrecognized arguments: --frob", "gitvirt version --help"),
    ],
)  # fmt: skip
def test_verbs_that_need_no_repo(capsys: Capture, words: str, code: Exit, cause: str, cure: str) -> None:
    output = refuse(capsys, words, code)
    assert cause in output[0]
    assert cure in output[1]


def test_missing_arguments_are_named_alone(capsys: Capture) -> None:
    assert refuse(capsys, "get", Exit.USAGE)[0] == "the following arguments are required: KIND"


@pytest.fixture
def without_source(fleet: Path) -> Path:
    """The source branch is gone from the server, and `live` is as it was."""
    bare = git(fleet, "remote", "get-url", "origin").strip()
    git(Path(bare.removeprefix("file://")), "update-ref", "-d", "refs/heads/main")
    return fleet


@pytest.mark.usefixtures("without_source")
@pytest.mark.parametrize("words", [*OF_ALL, *OF_ONE, "approve"])
def test_without_a_source_branch_live_is_read(capsys: Capture, words: str) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    found = capsys.readouterr()
    assert "the source branch main does not exist; showing live" in found.err
    assert "git push origin" in found.err


@pytest.mark.usefixtures("without_source")
@pytest.mark.parametrize("words", [*CHANGING, "approve 67056a96217495ab"])
def test_without_a_source_branch_nothing_is_changed(capsys: Capture, words: str) -> None:
    cause, cure = refuse(capsys, words, Exit.FAILED)
    assert cause == "the source branch main does not exist"
    assert cure.startswith("To restore it: git push origin ")
