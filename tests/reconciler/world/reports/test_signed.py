"""Reports of a poollet that has signers, in a fleet that looks at signatures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.store import Store
from reconciler.world.world import World
from schemas.report import CandidateReport, Report, render
from tests.reconciler.world.scene import INSTANCE, REPORTS, SETTINGS, Scene
from tests.servers.sshd import new_key

HERE = dict(os.environ)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("keys") / "host", "host@example.org")


def signing(scene: Scene, key: Path | None) -> None:
    """From now on every party of the scene signs, or none does."""
    objects = MemoryObjects(scene.remote)
    sign = SshSigner(key, HERE) if key else None
    scene.store = Store(objects, MemoryTransport(objects), Refs(), sign=sign)
    scene.snapshot()


def fleet(mode: str, key: Path, signers: bool = True) -> str:
    public = key.with_suffix(".pub").read_text().strip()
    own = f"poollets:\n  pool-a:\n    signers: ['{public}']\n" if signers else ""
    return f"{SETTINGS}signatures:\n  mode: {mode}\n  signers: ['{public}']\n{own}"


def codes(world: World, scene: Scene) -> list[str]:
    return [f"{each.code} {each.severity}" for each in scene.step(world).problems]


@pytest.mark.parametrize(
    ("mode", "has_signers", "is_used", "problems"),
    [
        ("enforce", True, False, ["GV621 error"]),
        ("warn", True, True, ["GV621 warning"]),
        ("off", True, True, []),
        ("enforce", False, True, []),
    ],
)
def test_an_unsigned_report(
    key: Path, mode: str, has_signers: bool, is_used: bool, problems: list[str]
) -> None:
    scene = Scene()
    signing(scene, key)
    scene.source({"gitvirt.yaml": fleet(mode, key, has_signers)})
    signing(scene, None)
    scene.report("pool-a")
    world = World(HERE)
    scene.step(world)
    assert ("pool-a" in world.pools) == is_used
    assert codes(world, scene) == problems


def test_an_unsigned_candidate_does_not_refuse_the_report_below_it(key: Path) -> None:
    scene = Scene()
    signing(scene, key)
    scene.source({"gitvirt.yaml": fleet("enforce", key)})
    scene.report("pool-a")
    signing(scene, None)
    candidate = CandidateReport(name="pool-a", host_id="another", instance=INSTANCE, pools=("pool-a",))
    scene._commit(REPORTS + "pool-a", dict(render(Report(candidate=candidate))), {})
    world = World(HERE)
    scene.step(world)
    assert world.pools["pool-a"].why_not_ready == ""
    assert codes(world, scene) == []


def test_a_signed_report_is_used_until_the_next_unsigned_one(key: Path) -> None:
    scene = Scene()
    signing(scene, key)
    scene.source({"gitvirt.yaml": fleet("enforce", key)})
    scene.report("pool-a")
    world = World(HERE)
    scene.step(world)
    assert world.pools["pool-a"].why_not_ready == ""
    signing(scene, None)
    scene.report("pool-a")  # the same tree: only the signature is missing
    scene.step(world)
    assert "pool-a" not in world.pools
    signing(scene, key)
    scene.report("pool-a")
    scene.step(world)
    assert world.pools["pool-a"].why_not_ready == ""
    assert codes(world, scene) == []
