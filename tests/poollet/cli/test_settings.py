"""Where a runtime listens, as people write it: what is wrong with it is said before a repo is asked or anything is started."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import pytest

from poollet.cli import add_arguments, settings
from poollet.runtimes.runtime_processes import is_served
from reconciler.cli.exits import CommandError, Exit

PLAIN = "name: h7\nrepo: {url: /srv/fleet.git}\n"


def read_arguments(folder: Path, text: str, *words: str) -> argparse.Namespace:
    file = folder / "poollet.yaml"
    file.write_text(text)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--config", str(file), *words])


@pytest.mark.parametrize("written", ["s1", "./s1", "unix:s1"])
def test_a_socket_is_a_path_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.chdir(tmp_path)
    (host,) = settings.hosts(read_arguments(tmp_path, PLAIN, "--runtime", "simulated", "--socket", written))
    (runtime,) = host.runtimes
    assert runtime.machine == runtime.volume == f"{tmp_path}/s1"


@pytest.mark.parametrize("written", ["10.0.0.1:99", "localhost:", "unix:", f"/tmp/{'s' * 120}"])
def test_an_impossible_socket_is_a_wrong_call(tmp_path: Path, written: str) -> None:
    with pytest.raises(CommandError, match=r"^--socket: ") as raised:
        settings.hosts(read_arguments(tmp_path, PLAIN, "--runtime", "simulated", "--socket", written))
    assert raised.value.exit_code == Exit.USAGE


def test_an_impossible_address_in_the_file_is_a_problem_of_it(tmp_path: Path) -> None:
    text = f"{PLAIN}runtimes: [{{name: kvm, machine: s1, start: simulated}}]\n"
    with pytest.raises(CommandError, match="the runtime kvm of h7: not an address: 's1'") as raised:
        settings.hosts(read_arguments(tmp_path, text))
    assert raised.value.exit_code == Exit.PROBLEMS


def test_a_service_manager_is_found_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_served("unix:s1")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s1")
        listening.listen()
        assert is_served("unix:s1")
