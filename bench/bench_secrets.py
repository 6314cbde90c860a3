"""Encrypted Secrets: how many a host opens per second, and how long `gitvirt validate` and `gitvirt secret check` take for 10,000 files,
beside as many files without encryption."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import figure
from poollet.decryption import Decryption
from poollet.sync.sealed_secret import SealedSecret, read_objects
from schemas.encryption.age_armor import Identities, parse_identities, public_half
from schemas.encryption.sops_text import seal_text
from schemas.manifest import parse

FILES = 10_000
HOSTS = 20
NOW = datetime(2026, 11, 20, tzinfo=UTC)
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {{name: s{number}}}\nstringData:\n  ignition.yaml: value-{number}\n"
MACHINE = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata: {{name: m{number}}}\n"
    "spec:\n  machineClassRef: {{name: small}}\n  machinePoolRef: {{name: host-{host}}}\n  ignitionRef: {{name: s{number}}}\n"
)
POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: host-{host}}}\n"
CLASS = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: small}\ncapabilities: {cpu: 1, memory: 1Gi}\n"


def make_key(folder: Path, name: str) -> bytes:
    """Of ssh-ed25519, as hosts have them."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.read_bytes()


def measure_decryption(texts: list[str], identities: Identities) -> float:
    """Secrets that one host opens per second, each for the first time."""
    secrets = [each for text in texts for each in read_objects(parse("s.yaml", text.encode()), text.encode())]
    decryption = Decryption(identities)
    start = time.perf_counter()
    for secret in secrets:
        assert isinstance(secret, SealedSecret)
        assert isinstance(decryption.open(secret), dict)
    return len(secrets) / (time.perf_counter() - start)


def write_fleet(folder: Path, texts: list[str], keys: list[str], admin: str, *, plain: bool) -> None:
    hosts = "".join(f'  host-{number}: {{age: ["{key}"]}}\n' for number, key in enumerate(keys))
    (folder / "gitvirt.yaml").write_text(
        "fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\n"
        f'secrets: {{admins: ["{admin}"], plain: {"allow" if plain else "deny"}}}\npoollets:\n{hosts}'
    )
    for number, text in enumerate(texts):
        place = folder / f"d{number % 100}"
        place.mkdir(exist_ok=True)
        (place / f"s{number}.yaml").write_text(text)
        (place / f"m{number}.yaml").write_text(MACHINE.format(number=number, host=number % HOSTS))
    pools = "---\n".join(POOL.format(host=number) for number in range(HOSTS))
    (folder / "class.yaml").write_text(f"{CLASS}---\n{pools}")


def measure_verb(folder: Path, *words: str) -> tuple[float, float]:
    """In a process, from its start to its exit: seconds, and seconds of a processor, which do not depend on what else runs."""
    command = [sys.executable, "-m", "reconciler", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, used


def main() -> None:
    with tempfile.TemporaryDirectory() as text:
        root = Path(text)
        host_keys = [make_key(root, f"host-{number}") for number in range(HOSTS)]
        admin = public_half(make_key(root, "admin"))[0]
        publics = [public_half(data)[0] for data in host_keys]
        plain = [SECRET.format(number=number) for number in range(FILES)]
        start = time.perf_counter()
        sealed = [seal_text(each, [admin, publics[number % HOSTS]], NOW) for number, each in enumerate(plain)]
        seal_rate = FILES / (time.perf_counter() - start)
        open_rate = measure_decryption(sealed[::HOSTS], parse_identities(host_keys[0]))
        seconds = {}
        for name, texts in (("sealed", sealed), ("plain", plain)):
            folder = root / f"fleet-{name}"
            folder.mkdir()
            write_fleet(folder, texts, publics, admin, plain=name == "plain")
            subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
            seconds[name] = min(measure_verb(folder, "validate") for _ in range(2))
        check = measure_verb(root / "fleet-sealed", "secret", "check", "--worktree")
    figure("secrets, encrypted", f"{seal_rate:,.0f}/s, for two readers each")
    figure("secrets, opened by a host", f"{open_rate:,.0f}/s")
    (whole, used), (check_whole, check_used) = seconds["sealed"], check
    figure(
        "secrets, validate",
        f"{whole:.2f} s, {used:.2f} s of a processor, for {FILES:,} encrypted files and their machines",
    )
    ratio = used / seconds["plain"][1]
    figure("secrets, validate against plain files", f"{ratio:.2f} times as long")
    figure(
        "secrets, check",
        f"{check_whole:.2f} s, {check_used:.2f} s of a processor, for {FILES:,} files",
    )


if __name__ == "__main__":
    main()
