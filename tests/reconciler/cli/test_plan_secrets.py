"""`gitvirt plan` and `gitvirt explain` of machines that need Secrets: gitvirt.yaml alone says which host can open one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from schemas.encryption.sops_text import seal_text
from tests.reconciler.cli.test_plan import Command, Site, gitvirt, site, template
from tests.reconciler.loop.fleet import SETTINGS, machine
from tests.schemas.encryption.keys import ADMIN_PUBLIC, HOST_PUBLIC
from tests.servers.repository import git

__all__ = ["gitvirt", "site", "template"]
SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: seed\nstringData:\n  ignition.yaml: x\n"
SEEDED = machine("new").rstrip() + "\n  ignitionRef: {name: seed}\n"


@pytest.fixture(params=["with reports", "without reports"])
def checkout(request: pytest.FixtureRequest, site: Site) -> Path:
    """A fresh clone has no refs/poollets/*."""
    hosts = {"rack-a1": ADMIN_PUBLIC, "rack-a2": HOST_PUBLIC}
    sealed = seal_text(SECRET, [HOST_PUBLIC], datetime.now(UTC))
    text = (
        SETTINGS + "poollets:\n" + "".join(f'  {name}: {{age: ["{key}"]}}\n' for name, key in hosts.items())
    )
    site.edit({"gitvirt.yaml": text, "seed.yaml": sealed, "machines/new.yaml": SEEDED})
    if request.param == "without reports":
        for ref in git(site.checkout, "for-each-ref", "--format=%(refname)", "refs/poollets").split():
            git(site.checkout, "update-ref", "-d", ref)
    return site.checkout


@pytest.mark.usefixtures("checkout")
def test_the_pool_whose_host_can_open_the_secret_is_planned(gitvirt: Command) -> None:
    planned = {change["object"]: change["pool"] for change in gitvirt.json("plan")["actions"]}
    assert planned["Machine/default/new"] == "rack-a2"
    code, text = gitvirt("explain", "machine", "new")
    assert code == Exit.OK
    assert "its host cannot open Secret default/seed: `gitvirt secret rekey default/seed`" in text
    assert "has no key" not in text


def test_a_host_without_a_key_is_named_so(checkout: Path, gitvirt: Command) -> None:
    text = (checkout / "gitvirt.yaml").read_text()
    (checkout / "gitvirt.yaml").write_text(text[: text.index("  rack-a2:")] + "  rack-a2: {}\n")
    code, shown = gitvirt("explain", "machine", "new")
    assert code == Exit.UNPLACEABLE
    assert "its host has no key in gitvirt.yaml, and cannot open Secret default/seed" in shown
