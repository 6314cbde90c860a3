"""How a machine reaches a volume, and where the values of secrets come from, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from iri.machine import VolumeConnection
from iri.volume import Access, Resources, RuntimeVolume, RuntimeVolumeStatus, VolumeDetail, VolumeState
from poollet.decide.actions import ExecutorState
from poollet.decide.decision import HostSecrets, PoolletFacts
from poollet.decide.dependencies import connect_local, connect_remote
from poollet.decide.inventory import Inventory
from poollet.decide.memory import Memory
from poollet.decide.secrets import Lookups, NotReady, SecretValues, read_secret, read_secret_key
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Key
from schemas.model import Object, Volume
from tests.poollet.documents import FLEET, GIB, secret, volume

FACTS = PoolletFacts(FLEET)
ALLOWED = replace(FACTS, plain_secrets=True)
OWN = HostSecrets({("default", "key"): {"a": b"host"}})


def lookups(facts: PoolletFacts, *documents: LiveDocument) -> Lookups:
    objects: dict[Key, Object] = {one.object.key: one.object for one in documents}
    return Lookups(objects, Inventory({}, ExecutorState(), Memory(), FLEET), facts)


PLAIN, ENCRYPTED = secret("key", a="live", b="x"), secret("key", a="ENC[AES256_GCM,data:x]")

# the facts of the host, the documents, the values or the reason
SECRETS: dict[str, tuple[PoolletFacts, tuple[LiveDocument, ...], dict[str, bytes] | str]] = {
    "nowhere": (ALLOWED, (), "SecretMissing"),
    "another one": (ALLOWED, (secret("other", a="x"),), "SecretMissing"),
    "plain, and allowed": (ALLOWED, (PLAIN,), {"a": b"live", "b": b"x"}),
    "plain, and denied": (FACTS, (PLAIN,), "SecretPlain"),
    "encrypted": (ALLOWED, (ENCRYPTED,), "SecretNotReadable"),
    "on the host only": (replace(FACTS, secrets=OWN), (), {"a": b"host"}),
    "on the host, plain on live": (replace(ALLOWED, secrets=OWN), (PLAIN,), {"a": b"host"}),
    "on the host, encrypted on live": (replace(FACTS, secrets=OWN), (ENCRYPTED,), {"a": b"host"}),
}


@pytest.mark.parametrize(("facts", "documents", "want"), SECRETS.values(), ids=SECRETS.keys())
def test_the_values_of_a_secret_come_from_the_host_first(
    facts: PoolletFacts, documents: tuple[LiveDocument, ...], want: dict[str, bytes] | str
) -> None:
    found = read_secret("default", "key", lookups(facts, *documents))
    if isinstance(want, str):
        assert isinstance(found, NotReady)
        assert found.reason == want
    else:
        assert found == SecretValues(want)


@pytest.mark.parametrize(
    ("key", "want"), [("a", b"live"), ("c", NotReady("SecretKeyMissing", "Secret default/key has no key c"))]
)
def test_one_value_of_a_secret_is_read_by_its_key(key: str, want: bytes | NotReady) -> None:
    assert read_secret_key("default", "key", key, lookups(ALLOWED, PLAIN)) == want


def make_volume() -> Volume:
    found = volume().object
    assert isinstance(found, Volume)
    return found


ACCESS = Access(driver="rbd", handle="h", attributes={"pool": "p"}, secret_data={"key": b"s"})


def here(state: VolumeState = VolumeState.AVAILABLE, **more: Any) -> RuntimeVolume:
    status = RuntimeVolumeStatus(
        state=state, access=more.pop("access", ACCESS), resources=more.pop("resources", None)
    )
    return RuntimeVolume(id="v", status=status, **more)


REACHED = VolumeConnection(
    driver="rbd",
    handle="h",
    attributes={"pool": "p"},
    secret_data={"key": b"s"},
    encryption_data={"luks": b"e"},
)
# the volume on this host, the connection or the message
LOCAL: dict[str, tuple[RuntimeVolume | None, VolumeConnection | str]] = {
    "available": (here(), REACHED),
    "available, of a known size": (
        here(resources=Resources(storage_bytes=GIB)),
        VolumeConnection(
            driver="rbd",
            handle="h",
            attributes={"pool": "p"},
            secret_data={"key": b"s"},
            encryption_data={"luks": b"e"},
            effective_storage_bytes=GIB,
        ),
    ),
    "not created": (None, "Volume data is not available yet"),
    "pending": (here(VolumeState.PENDING), "Volume data is not available yet"),
    "failed": (
        here(VolumeState.ERROR, detail=VolumeDetail(message="no space")),
        "Volume data is not available yet: no space",
    ),
    "being removed": (here(deleted_at=1), "Volume data is not available yet"),
    "without access data": (here(access=None), "Volume data has no access data yet"),
}


@pytest.mark.parametrize(("found", "want"), LOCAL.values(), ids=LOCAL.keys())
def test_a_volume_on_this_host_is_reached_by_its_runtime(
    found: RuntimeVolume | None, want: VolumeConnection | str
) -> None:
    got = connect_local(make_volume(), found, {"luks": b"e"})
    assert got == (NotReady("VolumeNotReady", want) if isinstance(want, str) else want)


def make_remote(state: str = "Available", *, needs_secret: str = "", **access: Any) -> Volume:
    status: dict[str, Any] = {
        "state": state,
        "access": {"driver": "rbd", "handle": "h", "volumeAttributes": {"pool": "p"}, **access},
        "resources": {"storage": "1Gi"},
    }
    if needs_secret:
        condition = {"type": "AccessSecret", "status": needs_secret, "reason": "Required", "message": "key"}
        status["conditions"] = [condition]
    found = volume(status=status).object
    assert isinstance(found, Volume)
    return found


REMOTE = VolumeConnection(driver="rbd", handle="h", attributes={"pool": "p"}, effective_storage_bytes=GIB)
WITH_KEY = VolumeConnection(
    driver="rbd",
    handle="h",
    attributes={"pool": "p"},
    secret_data={"a": b"host"},
    effective_storage_bytes=GIB,
)
FOR_DATA = replace(FACTS, secrets=HostSecrets({("default", "data"): {"a": b"host"}}))

# the volume as `live` has it, the facts of this host, the connection or the reason
REMOTES: dict[str, tuple[Volume, PoolletFacts, VolumeConnection | str]] = {
    "available": (make_remote(), FACTS, REMOTE),
    "pending": (make_remote("Pending"), FACTS, "VolumeNotReady"),
    "without a handle": (make_remote(handle=""), FACTS, "VolumeNotReady"),
    "nothing reported": (make_volume(), FACTS, "VolumeNotReady"),
    "needs a secret": (make_remote(needs_secret="True"), FACTS, "AccessSecretMissing"),
    "needs no secret any more": (make_remote(needs_secret="False"), FACTS, REMOTE),
    "needs a secret that this host has": (make_remote(needs_secret="True"), FOR_DATA, WITH_KEY),
    "the host has a secret that is not needed": (make_remote(), FOR_DATA, REMOTE),
    "names a secret": (make_remote(secretRef={"name": "key"}), replace(FACTS, secrets=OWN), WITH_KEY),
    "names a secret that is nowhere": (make_remote(secretRef={"name": "key"}), FACTS, "SecretMissing"),
}


@pytest.mark.parametrize(("found", "facts", "want"), REMOTES.values(), ids=REMOTES.keys())
def test_a_volume_on_another_host_is_reached_by_what_live_says(
    found: Volume, facts: PoolletFacts, want: VolumeConnection | str
) -> None:
    got = connect_remote(found, lookups(facts), {})
    assert (got.reason if isinstance(got, NotReady) else got) == want
