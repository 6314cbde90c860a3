"""`gitvirt console` where no runtime of this host has the machine: the fleet's repo says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import POOL, POOL_STATUS, gitvirt
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No runtime on this host."""
    monkeypatch.setenv("IRI_MACHINE_RUNTIME_ENDPOINT", "/nonexistent/machines.sock")


@pytest.mark.parametrize("verb", ["console", "exec"])
@pytest.mark.parametrize(
    ("words", "cause", "cure"),
    [
        (
            "web-1",
            "web-1 is on rack-a, not at the runtime of this host",
            "ssh -t rack-a gitvirt console default/web-1",
        ),
        (
            "web-1",
            "web-1 is on rack-a",
            "if the runtime has a socket of its own, add --address SOCKET",
        ),
        ("default/web-1", "default/web-1 is on rack-a", "ssh -t rack-a gitvirt console default/web-1"),
        ("lab -n lab", "lab/lab has no pool", "gitvirt explain machine lab/lab"),
        ("web-9", "there is no Machine web-9 in namespace default", "did you mean web-2?"),
        ("lab", "there is no Machine lab in namespace default", "it exists in namespace lab: use -n lab"),
        (
            "3f2c9a1e-0000-4000-8000-000000000000",
            "no socket at /nonexistent/machines.sock",
            "is the runtime running?",
        ),
        ("web-1 --address /nonexistent/x.sock", "no socket at /nonexistent/x.sock", "is the runtime"),
    ],
)
def test_says_where_it_is(fleet: Path, capsys: Capture, verb: str, words: str, cause: str, cure: str) -> None:
    assert gitvirt(verb, *words.split()) == Exit.FAILED
    output = capsys.readouterr().err
    assert cause in output
    assert cure in output


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("web-1", "ssh rack-a gitvirt logs default/web-1"),
        ("-f --tail 20 web-1", "ssh -t rack-a gitvirt logs -f --tail 20 default/web-1"),
        ("--previous --raw web-1", "ssh rack-a gitvirt logs --previous --raw default/web-1"),
    ],
)
def test_logs_of_another_host_names_the_command_with_its_options(
    fleet: Path, capsys: Capture, words: str, command: str
) -> None:
    assert gitvirt("logs", *words.split()) == Exit.FAILED
    output = capsys.readouterr().err
    assert "web-1 is on rack-a, not at the runtime of this host" in output
    assert command in " ".join(output.split())


def test_the_command_names_the_address_of_the_host(fleet: Path, capsys: Capture) -> None:
    git(fleet, "checkout", "-q", "live")
    status = POOL_STATUS + b"  addresses: [{type: InternalIP, address: 192.0.2.7}]\n"
    commit(fleet, {"pools/rack-a.yaml": POOL + status}, "rack-a has an address")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("console", "web-1") == Exit.FAILED
    assert "ssh -t 192.0.2.7 gitvirt console default/web-1" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["console", "logs"])
def test_a_simulated_host_is_reached_by_its_socket_and_not_by_ssh(
    fleet: Path, capsys: Capture, verb: str
) -> None:
    git(fleet, "checkout", "-q", "live")
    status = (
        POOL_STATUS
        + b"  addresses: [{type: Hostname, address: simulated}]\n  nodeInfo: {hypervisor: simulated}\n"
    )
    commit(fleet, {"pools/rack-a.yaml": POOL + status}, "rack-a is simulated")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt(verb, "web-1") == Exit.FAILED
    output = " ".join(capsys.readouterr().err.split())
    assert f"gitvirt {verb} --address SOCKET default/web-1, where `gitvirt runtime simulated`" in output
    assert "ssh" not in output


@pytest.mark.parametrize("address", ["-oProxyCommand=evil", "a; evil", "$(evil)", "a b", "a`evil`"])
def test_an_invalid_address_appears_in_no_command(fleet: Path, capsys: Capture, address: str) -> None:
    git(fleet, "checkout", "-q", "live")
    status = POOL_STATUS + f"  addresses: [{{type: Hostname, address: '{address}'}}]\n".encode()
    commit(fleet, {"pools/rack-a.yaml": POOL + status}, "rack-a announces an invalid address")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("console", "web-1") == Exit.FAILED
    output = capsys.readouterr().err
    assert "ssh -t rack-a gitvirt console default/web-1" in output
    assert "evil" not in output


def test_without_a_repo_the_runtime_is_what_is_missing(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert gitvirt("console", "web-1") == Exit.FAILED
    assert "no socket at" in capsys.readouterr().err
