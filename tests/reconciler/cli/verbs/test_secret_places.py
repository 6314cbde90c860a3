"""Hosts for a Secret whose pools no file declares: `gitvirt secret --worktree` knows those that the checkout has of `live`, and says what to declare
where it has nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import gitvirt
from tests.reconciler.cli.verbs.test_secret import Keys, keys, push, readers, settings
from tests.reconciler.gitstore.git import commit, git

__all__ = ["keys"]
VOLUME = b"""apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata: {name: fast}
capabilities: {tps: 1Mi, iops: "100"}
---
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {name: data, namespace: shop}
spec:
  volumeClassRef: {name: fast}
  resources: {storage: 1Gi}
  encryption: {secretRef: {name: data}}
"""
SELECTED = VOLUME + b"  volumePoolSelector: {zone: a}\n"
REKEY = "run `gitvirt secret rekey --worktree shop/data`"


@pytest.fixture
def open_fleet(fleet: Path, keys: Keys) -> Path:
    """Hosts announce their pools, and a Secret of a volume is in the checkout."""
    push(fleet, {"gitvirt.yaml": settings(keys).replace(b"pools: declared", b"pools: open")}, "open pools")
    words = ["--generate", "encryptionKey", "--worktree"]
    assert gitvirt("secret", "create", "shop/data", *words) == Exit.OK
    return fleet


def announce(fleet: Path, zones: dict[str, str]) -> None:
    """As the reconciler writes the pools of hosts to `live`."""
    texts = {
        f".gitvirt/pools/{name}.yaml": (
            "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumePool\n"
            f"metadata: {{name: {name}, labels: {{zone: {zone}}}}}\n"
        ).encode()
        for name, zone in zones.items()
    }
    git(fleet, "stash", "-q", "--include-untracked")
    git(fleet, "checkout", "-q", "live")
    commit(fleet, texts, "pools")
    git(fleet, "push", "-q", "origin", "live")
    git(fleet, "checkout", "-q", "main")
    git(fleet, "stash", "pop", "-q")


def secret_readers(fleet: Path, keys: Keys) -> set[str]:
    return readers(keys, (fleet / "secrets/shop/data.yaml").read_text())


@pytest.mark.parametrize(
    ("volume", "want"),
    [(VOLUME, {"rack-a1", "rack-b1"}), (SELECTED, {"rack-a1"})],
    ids=["any pool", "a selector"],
)
def test_pools_that_hosts_announced_count_in_a_checkout(
    volume: bytes, want: set[str], open_fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    announce(open_fleet, {"rack-a1": "a", "rack-b1": "b"})
    (open_fleet / "machines/data.yaml").write_bytes(volume)
    capsys.readouterr()
    assert gitvirt("validate") == Exit.PROBLEMS
    assert REKEY in capsys.readouterr().out
    assert gitvirt("secret", "check", "--worktree") == Exit.PROBLEMS
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    assert secret_readers(open_fleet, keys) == {"ann", *want}
    assert gitvirt("validate") == Exit.OK
    assert gitvirt("secret", "check", "--worktree") == Exit.OK


def test_what_was_announced_once_takes_no_right_away(open_fleet: Path, keys: Keys) -> None:
    announce(open_fleet, {"rack-a1": "a", "rack-b1": "b"})
    (open_fleet / "machines/data.yaml").write_bytes(SELECTED)
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    announce(open_fleet, {"rack-a1": "b", "rack-b1": "a"})
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    assert secret_readers(open_fleet, keys) == {"ann", "rack-a1", "rack-b1"}


def test_where_nothing_is_known_each_verb_says_what_to_declare(
    open_fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    (open_fleet / "machines/data.yaml").write_bytes(VOLUME)
    capsys.readouterr()
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    shown = capsys.readouterr().err
    assert (
        "no host can open Secret/shop/data for Volume/shop/data: no file says which hosts have a pool"
        in shown
    )
    assert "poollets.NAME.volumePools in gitvirt.yaml" in shown
    assert REKEY in shown
    assert gitvirt("secret", "check", "--worktree", "-o", "json") == Exit.PROBLEMS
    assert [one["noHostCanOpen"] for one in json.loads(capsys.readouterr().out)] == [True]
    assert gitvirt("validate", "-o", "json") == Exit.PROBLEMS
    (found,) = (one for one in json.loads(capsys.readouterr().out)["problems"] if one["code"] == "GV512")
    assert "because no file says which hosts have a pool for it" in found["message"]
    assert "poollets.NAME.volumePools in gitvirt.yaml" in found["hint"]
    assert REKEY in found["hint"]

    text = (open_fleet / "gitvirt.yaml").read_text()
    (open_fleet / "gitvirt.yaml").write_text(text.replace("rack-a1: {", "rack-a1: {volumePools: [rack-a1], "))
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    assert secret_readers(open_fleet, keys) == {"ann", "rack-a1"}
    assert gitvirt("validate") == Exit.OK


def test_a_note_in_a_checkout_names_the_command_for_the_checkout(
    fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gitvirt("secret", "create", "seed", "--generate", "a", "--worktree") == Exit.OK
    assert "run `gitvirt secret rekey --worktree`" in capsys.readouterr().err
    assert gitvirt("secret", "create", "more", "--generate", "a") == Exit.OK
    assert "run `gitvirt secret rekey`" in capsys.readouterr().err


def test_a_volume_keeps_its_passphrase_when_a_reader_goes(
    open_fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    two = (open_fleet / "gitvirt.yaml").read_text()
    both = f'"{keys.public("rack-a1")}", "{keys.public("rack-a2")}"'
    one = two.replace(f'  rack-a1: {{age: ["{keys.public("rack-a1")}"]}}\n', "")
    one = one.replace(f'  rack-a2: {{age: ["{keys.public("rack-a2")}"]}}\n', "")
    two = f"{one}  rack-a1: {{volumePools: [rack-a1], age: [{both}]}}\n"
    pools = {"gitvirt.yaml": two.encode(), "machines/data.yaml": VOLUME}
    push(open_fleet, pools, "a host with two keys")
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    push(open_fleet, {}, "encrypted")
    assert secret_readers(open_fleet, keys) == {"ann", "rack-a1", "rack-a2"}
    after = f"{one.replace('rack-b1: {', 'rack-b1: {volumePools: [rack-b1], ')}"
    push(open_fleet, {"gitvirt.yaml": after.encode()}, "remove rack-a1")
    capsys.readouterr()
    gitvirt("validate")
    assert "rotate" not in capsys.readouterr().out
    assert gitvirt("secret", "rekey") == Exit.OK
    shown = capsys.readouterr().err
    assert "declare a new volume with a new Secret" in shown
    assert "rotate the value" not in shown
    assert gitvirt("secret", "check", "shop/data") == Exit.PROBLEMS
    shown = capsys.readouterr().out
    assert shown.count("rack-a1 could read it until ") == 1
    assert "declare a new volume with a new Secret" in shown
    assert "rotate" not in shown
