"""`gitvirt poollet join`: a key for the host, and its entry in gitvirt.yaml, printed or proposed on a branch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from poollet.cli import join as joining
from poollet.cli.join import find_recipients, make_key, with_entry
from reconciler.cli.exits import CommandError
from schemas.encryption.age_armor import public_half
from schemas.encryption.recipients import parse_recipient
from schemas.settings import fleet
from schemas.settings.host import PoolletSettings, PoolSettings, RepoSettings
from tests.poollet.cli.process import FleetRepo
from tests.poollet.fleet import FLEET
from tests.schemas.settings.certificates import certificate
from tests.servers.repository import git

OWN, OTHER = certificate("host-1"), certificate("other")
ONE = PoolletSettings(name="host-1", repo=RepoSettings(url="x"))


def join(fleet_repo: FleetRepo, *more: str) -> tuple[int, str, str]:
    words = [
        "--name",
        "host-1",
        "--repo",
        str(fleet_repo.repo),
        "--mirror",
        str(fleet_repo.folder / "mirror"),
        *more,
    ]
    command = [sys.executable, "-m", "reconciler", "poollet", "join", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        (
            "",
            "\npoollets:\n  host-1:\n    pools:\n      - host-1\n    volumePools:\n      - host-1\n    certificates:\n      - |\n",
        ),
        ("poollets: {}  # none yet\n", "poollets:  # none yet\n  host-1:\n    pools:\n      - host-1\n"),
        ("poollets:\n    other: {pools: [a]}\n", "    other: {pools: [a]}\n    host-1:\n        pools:\n"),
        (
            "poollets:\n  # all of them\n  other:\n",
            "poollets:\n  # all of them\n  other:\n  host-1:\n    pools:\n",
        ),
        ("poollets:  # who\n  other:\npools: open\n", "poollets:  # who\n  other:\n  host-1:\n    pools:\n"),
    ],
)
def test_an_entry_is_added_and_nothing_else_moves(settings: str, want: str) -> None:
    text = f"# ours\nfleet: {{id: {FLEET}}}\n{settings}"
    after = with_entry(text.encode(), ONE, OWN).decode()
    assert want in after
    found = fleet.parse(after.encode())
    assert isinstance(found, fleet.FleetSettings)
    entry = found.poollets["host-1"]
    assert entry is not None
    assert entry.certificates == (OWN,)
    kept = [line for line in text.splitlines() if not line.startswith("poollets: {}")]
    assert [line for line in after.splitlines() if line in kept] == kept
    assert with_entry(after.encode(), ONE, OWN).decode() == after


@pytest.mark.parametrize(
    ("listed", "want"), [((), (OWN,)), ((OTHER,), (OTHER, OWN)), ((OWN, OTHER), (OWN, OTHER))]
)
def test_an_entry_that_is_there_gets_the_certificate_alone(
    listed: tuple[str, ...], want: tuple[str, ...]
) -> None:
    text = json.dumps(
        {"fleet": {"id": FLEET}, "poollets": {"host-1": {"pools": ["x"], "certificates": listed}}}
    )
    found = fleet.parse(with_entry(text.encode(), ONE, OWN))
    assert isinstance(found, fleet.FleetSettings)
    assert found.poollets["host-1"] == fleet.PoolletEntry(pools=("x",), certificates=want)
    assert with_entry(text.encode(), ONE, "") == text.encode()


def test_a_third_certificate_is_refused() -> None:
    text = json.dumps(
        {"fleet": {"id": FLEET}, "poollets": {"host-1": {"certificates": [OTHER, certificate("third")]}}}
    )
    with pytest.raises(CommandError, match="two other certificates"):
        with_entry(text.encode(), ONE, OWN)


def test_the_entry_names_the_pools_that_are_announced() -> None:
    pools = (PoolSettings(name="a"), PoolSettings(name="b"), PoolSettings(name="c", kind="VolumePool"))
    host = PoolletSettings(name="rack", repo=RepoSettings(url="x"), pools=pools)
    found = fleet.parse(with_entry(f"fleet: {{id: {FLEET}}}\n".encode(), host, ""))
    assert isinstance(found, fleet.FleetSettings)
    assert found.owns("rack", "b")
    assert found.owns_volumes("rack", "c")
    assert not found.owns_volumes("rack", "a")


def test_a_new_entry_lists_the_key_that_the_poollet_opens_secrets_with(tmp_path: Path) -> None:
    key = tmp_path / "id"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "poollet rack", "-f", key], check=True
    )
    public = parse_recipient(key.with_name("id.pub").read_text())
    assert public is not None

    def list_keys(identity: str, named: tuple[str, ...] | None = None) -> tuple[str, ...]:
        repo = RepoSettings(url="x", identity=identity or None)
        host = PoolletSettings(name="rack", repo=repo, decryption_keys=named)
        after = with_entry(f"fleet: {{id: {FLEET}}}\n".encode(), host, "", find_recipients(host))
        found = fleet.parse(after)
        assert isinstance(found, fleet.FleetSettings)
        made = found.poollets["rack"]
        assert made is not None
        return made.age

    assert list_keys(str(key)) == (public,)
    assert list_keys("", (str(key),)) == (public,)
    assert list_keys("") == list_keys("/etc/other") == list_keys(str(key), ("/etc/other",)) == ()
    assert find_recipients(ONE) == ()
    # Keys of age have no public file beside them, and several keys count.
    subprocess.run(["age-keygen", "-o", tmp_path / "age"], check=True, capture_output=True)
    (age,) = public_half((tmp_path / "age").read_bytes())
    assert list_keys("", (str(tmp_path / "age"), str(key))) == (age, public)
    key.with_name("id.pub").unlink()
    assert list_keys(str(key)) == (public,)
    signing = RepoSettings(url="x", signing_key=str(key), identity=str(tmp_path / "age"))
    assert find_recipients(PoolletSettings(name="rack", repo=signing)) == (public, age)


def test_a_host_without_a_key_for_secrets_learns_what_to_add(tmp_path: Path) -> None:
    fleet_repo, key = FleetRepo(tmp_path), tmp_path / "keys" / "id"
    fleet_repo.begin()
    code, output, _ = join(fleet_repo, "--key", str(key))
    assert code == 0
    assert (
        f"the host can open no Secrets: poollet.yaml names no key for that; add decryptionKeys: [{key}]"
        in output
    )


def test_a_dry_run_says_that_it_would_list_the_key_that_it_creates(tmp_path: Path) -> None:
    fleet_repo, key = FleetRepo(tmp_path), tmp_path / "keys" / "id"
    fleet_repo.begin()
    config = tmp_path / "poollet.yaml"
    config.write_text(
        f"name: host-1\nrepo: {{url: {fleet_repo.repo}, mirror: {tmp_path / 'mirror'}, identity: {key}}}\n"
    )

    def call(*more: str) -> str:
        command = [sys.executable, "-m", "reconciler", "poollet", "join", "--config", str(config), *more]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    would = f"would create the key {key}, and list it in the entry, because the poollet opens Secrets with it"
    output = call("--dry-run")
    assert would in output
    assert "can open no Secrets" not in output
    assert not key.parent.exists()
    # A key that the poollet does not use is not listed, and does not help.
    output = call("--dry-run", "--key", str(tmp_path / "other"))
    assert "would create the key" not in output
    assert "can open no Secrets" in output
    (public,) = parse_public(call())
    assert public == parse_recipient(key.with_name("id.pub").read_text())


def parse_public(output: str) -> list[str]:
    """The recipients that the printed entry lists."""
    found = fleet.parse(f"fleet: {{id: {FLEET}}}\n{output[output.index('poollets:') :]}".encode())
    assert isinstance(found, fleet.FleetSettings)
    entry = found.poollets["host-1"]
    assert entry is not None
    return list(entry.age)


def test_the_certificate_of_another_host_is_not_proposed(tmp_path: Path) -> None:
    """Two hosts join from one computer, with ssh keys in one folder."""
    fleet_repo = FleetRepo(tmp_path)
    fleet_repo.begin()
    assert join(fleet_repo, "--key", str(tmp_path / "keys" / "one"))[0] == 0
    code, output, errors = join(fleet_repo, "--key", str(tmp_path / "keys" / "two"), "--name", "host-2")
    assert code == 1
    assert "link.crt is the certificate of host-1, not of host-2" in errors
    assert "BEGIN CERTIFICATE" not in output
    assert join(fleet_repo, "--key", str(tmp_path / "other" / "two"), "--name", "host-2")[0] == 0


@pytest.mark.parametrize("settings", ["fleet: 1\n", f"x: &a {{}}\nfleet: {{id: {FLEET}}}\n"])
def test_settings_that_cannot_be_added_to_are_left_alone(settings: str) -> None:
    with pytest.raises(CommandError):
        with_entry(settings.encode(), ONE, OWN)


def test_a_key_is_made_once_and_the_entry_printed(tmp_path: Path) -> None:
    fleet_repo, key = FleetRepo(tmp_path), tmp_path / "keys" / "id"
    fleet_repo.begin()
    code, output, _ = join(fleet_repo, "--key", str(key))
    assert code == 0
    assert key.stat().st_mode & 0o077 == 0
    assert key.with_name("id.pub").read_text().strip() in output
    assert "poollets:\n  host-1:\n" in output
    made = {path.name: path.read_text() for path in key.parent.iterdir()}
    assert sorted(made) == ["id", "id.pub", "link.crt", "link.key"]
    assert (key.parent / "link.key").stat().st_mode & 0o077 == 0
    assert not [line for line in made["link.key"].splitlines()[1:-1] if line in output]
    listed = f"fleet: {{id: {FLEET}}}\n{output[output.index('poollets:') :]}"
    found = fleet.parse(listed.encode())
    assert isinstance(found, fleet.FleetSettings)
    assert found.poollets["host-1"] == fleet.PoolletEntry(
        pools=("host-1",), volume_pools=("host-1",), certificates=(made["link.crt"],)
    )
    assert join(fleet_repo, "--key", str(key))[1].replace("created the", "the") == output[
        output.index("add this key") :
    ].replace("created the", "the")
    assert {path.name: path.read_text() for path in key.parent.iterdir()} == made


def test_a_dry_run_makes_no_file_and_no_commit(tmp_path: Path) -> None:
    fleet_repo, key = FleetRepo(tmp_path), tmp_path / "keys" / "id"
    fleet_repo.begin()
    fleet_repo.commit({"gitvirt.yaml": f"fleet: {{id: {FLEET}}}\n"}, "main")
    code, output, _ = join(fleet_repo, "--key", str(key), "--branch", "join-host-1", "--dry-run")
    assert code == 0
    assert "would create the certificate" in output
    assert "+  host-1:" in output
    assert not key.parent.exists()
    assert not fleet_repo.head("refs/heads/join-host-1")


def test_an_entry_is_proposed_on_a_branch(tmp_path: Path) -> None:
    fleet_repo = FleetRepo(tmp_path)
    fleet_repo.begin()
    source = fleet_repo.commit({"gitvirt.yaml": f"fleet: {{id: {FLEET}}}\n"}, "main")
    key = str(tmp_path / "keys" / "id")
    code, output, wrong = join(fleet_repo, "--key", key, "--branch", "join-host-1")
    assert (code, wrong) == (0, "")
    assert "BEGIN CERTIFICATE" in git(fleet_repo.repo, "show", "join-host-1:gitvirt.yaml")
    assert "join-host-1" in output
    assert "host-1:" in git(fleet_repo.repo, "show", "join-host-1:gitvirt.yaml")
    assert git(fleet_repo.repo, "rev-parse", "join-host-1^") == source
    head = fleet_repo.head("refs/heads/join-host-1")
    assert join(fleet_repo, "--key", key, "--branch", "join-host-1")[0] == 0
    assert fleet_repo.head("refs/heads/join-host-1") == head
    code, _, wrong = join(fleet_repo, "--branch", "main")
    assert code == 2
    assert "not a branch to propose on" in wrong


def test_an_ssh_keygen_that_hangs_is_an_error_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ssh-keygen"
    program.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(joining, "KEY_SECONDS", 0.2)
    with pytest.raises(CommandError, match="did not end within") as found:
        make_key(tmp_path / "key", "host-1")
    assert found.value.cure == joining.OTHER_KEY
