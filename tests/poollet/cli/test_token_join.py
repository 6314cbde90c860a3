"""`gitvirt poollet join --token-file`: the host's half, against a server over real TLS."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.link.client_calls import CallAllowance
from reconciler.loop.loop import read_steady_clock
from tests.reconciler.link.joining import JoiningSite, joining_site
from tests.reconciler.link.serving import wait_for
from tests.servers.daemon import free_port
from tests.servers.link_certificates import make_certificate
from tests.servers.sshd import new_key

FROM_INPUT = ("--token-file", "-")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[JoiningSite]:
    with joining_site(tmp_path) as found:
        yield found


def address_of(site: JoiningSite) -> str:
    assert site.served.server.join_port is not None
    return site.served.server.join_port.address


def join(
    site: JoiningSite, *more: str, given: str = "", name: str = "rack-a7", pools: str = "", repo: str = ""
) -> tuple[int, str, str]:
    config = site.folder / f"{name}.yaml"
    config.write_text(
        f"name: {name}\nrepo: {{url: {site.remote}, mirror: {site.folder / 'mirror'}{repo}}}\n"
        f"pools: [{pools or '{name: rack-a7}, {kind: VolumePool, name: ssd-a7}'}]\n"
        f"runtimes: [{{name: sim, machine: {site.folder}/a.sock, volume: {site.folder}/a.sock}}]\n"
        f"link: {{key: {site.folder}/{name}.key, certificate: {site.folder}/{name}.crt}}\n"
    )
    words = ("poollet", "join", "--config", str(config), "--link", address_of(site), *more)
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", *words], input=given, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_host_joins_with_its_keys_and_asks_again_for_the_answer(site: JoiningSite) -> None:
    key, token = new_key(site.folder / "id", "rack-a7"), site.token()
    file = site.folder / "token"
    file.write_text(token + "\n")
    signs = f", identity: {key}, signingKey: {key}"
    code, output, errors = join(site, "--token-file", str(file), repo=signs)
    assert (code, errors) == (0, "")
    (branch,) = site.list_branches()
    assert f"the entry is on the branch {branch} (" in output
    assert "next: a person merges the branch" in output
    assert token not in output
    entry = site.settings(branch).poollets["rack-a7"]
    assert entry is not None
    public = " ".join(site.public("id").split()[:2])
    assert (entry.signers, entry.age) == ((f"{public} rack-a7",), (public,))
    assert entry.certificates == ((site.folder / "rack-a7.crt").read_text(),)
    again = join(site, *FROM_INPUT, given=token, repo=signs)
    assert again[:2] == (0, output.replace("created the", "the"))
    assert site.list_branches() == [branch]


def test_where_the_token_cannot_merge_the_host_says_why(site: JoiningSite) -> None:
    site.more = "  mode: enforce\n"
    site.write_settings()
    site.site.tick()
    code, output, _ = join(site, *FROM_INPUT, given=site.token(site.claim(merge=True)))
    assert (code, "not merged, although the token asks for it: this fleet accepts only signed" in output) == (
        0,
        True,
    )


def test_a_server_with_another_certificate_gets_nothing(site: JoiningSite) -> None:
    other = make_certificate("link", is_link=True)
    code, _, errors = join(site, *FROM_INPUT, given=site.token(site.claim(link=other.identity)))
    assert code == 1
    assert f"has the certificate {site.served.link.identity[:12]}" in errors
    assert "Nothing was sent" in errors
    assert site.served.count("gitvirt_link_joins_refused_total", reason="other_server") == 0


@pytest.mark.parametrize(
    ("name", "pools", "words"),
    [
        ("rack-a8", "", "the token is for rack-a7, and this host is rack-a8"),
        ("rack-a7", "{name: gpu}", "has the machine pool gpu, and the token allows rack-a7"),
        ("rack-a7", "{kind: VolumePool, name: hdd}", "has the volume pool hdd, and the token allows ssd-a7"),
    ],
)
def test_a_token_of_another_host_is_refused_before_anything_is_made(
    site: JoiningSite, name: str, pools: str, words: str
) -> None:
    code, _, errors = join(site, *FROM_INPUT, given=site.token(), name=name, pools=pools)
    assert (code, words in errors) == (3, True), errors
    assert not (site.folder / f"{name}.key").exists()


def test_a_pattern_of_the_token_allows_what_begins_like_it(site: JoiningSite) -> None:
    claim = site.claim(pools=("rack-*",), volume_pools=("*",))
    assert join(site, *FROM_INPUT, given=site.token(claim))[0] == 0


def test_a_refusal_is_shown_with_its_cure(site: JoiningSite) -> None:
    code, _, errors = join(site, *FROM_INPUT, given=site.token(by="stranger"))
    assert code == 1
    assert "the server refused the host: the token does not count: signed by the ssh key" in errors
    assert "signatures.signers of gitvirt.yaml lists" in errors


def test_a_host_calls_a_busy_server_again(site: JoiningSite, monkeypatch: pytest.MonkeyPatch) -> None:
    port = site.served.server.join_port
    assert port is not None
    full = CallAllowance(0, read_steady_clock(), 0.0, 0.0)
    monkeypatch.setattr(port, "_allowance", full)

    def let_in() -> None:
        wait_for(lambda: site.served.count("gitvirt_link_joins_refused_total", reason="too_many"), 60)
        full.at_once, full.per_second = 1.0, 1000.0

    with ThreadPoolExecutor(1) as thread:
        opened = thread.submit(let_in)
        code, _, errors = join(site, *FROM_INPUT, given=site.token())
        opened.result()
    assert (code, errors) == (0, "")
    assert len(site.list_branches()) == 1


def test_a_server_that_does_not_answer_is_an_error_with_its_cure(site: JoiningSite) -> None:
    code, _, errors = join(site, *FROM_INPUT, "--link", f"127.0.0.1:{free_port()}", given=site.token())
    assert (code, "does not answer: Connection refused" in errors, "firewall" in errors) == (1, True, True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "--link goes with a token"),
        ((*FROM_INPUT, "--branch", "b"), "do not go with a token"),
        ((*FROM_INPUT, "--dry-run"), "do not go with a token"),
        (FROM_INPUT, "this is not a token"),
        ((*FROM_INPUT, "--link", "here"), "is not HOST:PORT"),
    ],
)
def test_options_that_cannot_work_are_usage_errors(
    site: JoiningSite, more: tuple[str, ...], words: str
) -> None:
    code, _, errors = join(site, *more, given="hunter2")
    assert (code, words in errors) == (2, True), errors
    assert "hunter2" not in errors


def test_a_token_file_that_cannot_be_read_is_named(site: JoiningSite) -> None:
    code, _, errors = join(site, "--token-file", str(site.folder / "none"))
    assert (code, "No such file" in errors) == (1, True)
