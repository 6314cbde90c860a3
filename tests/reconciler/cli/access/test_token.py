"""`gitvirt token create`: a token that the server accepts, or an error with its cure."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.gitstore.signatures.join_token import read_token
from tests.reconciler.link.joining import JoiningSite, joining_site
from tests.reconciler.loop.fleet import FLEET
from tests.servers.link_certificates import indent, make_certificate


@pytest.fixture(scope="module")
def listed_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoiningSite]:
    with joining_site(tmp_path_factory.mktemp("shared")) as found:
        found.write_settings("rack-a1")
        found.site.tick()
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[JoiningSite]:
    with joining_site(tmp_path) as found:
        yield found


def create(site: JoiningSite, name: str, *more: str, home: str = "") -> tuple[int, str, str]:
    key = () if home else ("--key", str(site.folder / "operator"))
    command = [sys.executable, "-m", "reconciler", "token", "create", name, "--repo", str(site.remote)]
    given = {"GITVIRT_CACHE": str(site.folder / "cache-people"), **({"HOME": home} if home else {})}
    done = subprocess.run(
        [*command, *key, *more], capture_output=True, text=True, check=False, env={**os.environ, **given}
    )
    return done.returncode, done.stdout, done.stderr


def test_a_token_is_one_line_that_the_server_accepts(site: JoiningSite) -> None:
    code, output, errors = create(site, "rack-a7")
    assert code == 0
    assert output.count("\n") == 1
    found = read_token(output)
    assert found is not None
    claim = found[1]
    assert (claim.fleet, claim.link, claim.name) == (FLEET, site.served.link.identity, "rack-a7")
    assert (claim.pools, claim.volume_pools, claim.merge) == (("rack-a7",), ("rack-a7",), False)
    left = claim.expiry - datetime.now(UTC)
    assert timedelta(minutes=10) < left <= timedelta(minutes=15)
    assert f"valid until {claim.expiry:%Y-%m-%dT%H:%M:%SZ}" in errors
    assert "which a person merges" in errors
    assert "gitvirt poollet join --token-file FILE --link 127.0.0.1:PORT" in errors
    assert output.strip() not in errors
    answer = site.send(site.request(output.strip(), make_certificate("rack-a7")))
    assert answer.branch.startswith("join/rack-a7-")


def test_pools_time_and_merge_are_in_the_claim(listed_site: JoiningSite) -> None:
    words = ("--pools", "gpu-7, gpu-8", "--volume-pools", "ssd-*", "--ttl", "1h", "--merge")
    code, output, errors = create(listed_site, "rack-a7", *words)
    found = read_token(output)
    assert (code, found is not None) == (0, True), errors
    assert found is not None
    claim = found[1]
    assert (claim.pools, claim.volume_pools, claim.merge) == (("gpu-7", "gpu-8"), ("ssd-*",), True)
    assert "no person reviews it" in errors


def test_the_key_of_the_account_signs_by_default(listed_site: JoiningSite, tmp_path: Path) -> None:
    code, _, errors = create(listed_site, "rack-a7", home=str(tmp_path))
    assert (code, "there is no ssh key to sign with" in errors) == (2, True)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").symlink_to(listed_site.folder / "operator")
    assert create(listed_site, "rack-a7", home=str(tmp_path))[0] == 0


REFUSED = [
    ("rack-a7", ("--ttl", "2h"), 2, "is not between 1s and 1h"),
    ("rack-a7", ("--ttl", "soon"), 2, "invalid duration"),
    ("rack-a7", ("--pools", ","), 2, "name a pool"),
    ("rack-a7", ("--pools", "Rack A7"), 3, "Rack A7"),
    ("Rack-A7", (), 3, "Rack-A7"),
    ("rack-a1", (), 3, "an entry poollets.rack-a1 already"),
    ("rack-a7", ("--certificate", "ff" * 32), 2, "no certificate of the link begins with"),
]


@pytest.mark.parametrize(("name", "more", "code", "words"), REFUSED)
def test_what_the_server_would_refuse_is_an_error_at_once(
    listed_site: JoiningSite, name: str, more: tuple[str, ...], code: int, words: str
) -> None:
    found, output, errors = create(listed_site, name, *more)
    assert (found, output, words in errors) == (code, "", True), errors


def test_a_key_that_is_no_signer_is_an_error_with_its_cure(listed_site: JoiningSite) -> None:
    code, output, errors = create(listed_site, "rack-a7", "--key", str(listed_site.folder / "stranger"))
    assert (code, output) == (3, "")
    assert "not a signer" in errors
    assert f"list the public half of {listed_site.folder / 'stranger'} under signatures.signers" in errors


def test_of_two_certificates_people_choose_one(site: JoiningSite) -> None:
    new = make_certificate("link", is_link=True)
    site.site.push(
        {
            "gitvirt.yaml": site.settings_text().replace(
                "  certificates:\n", f"  certificates:\n{indent(new, '  ')}", 1
            )
        }
    )
    site.site.tick()
    code, _, errors = create(site, "rack-a7")
    assert code == 2
    assert "the link has two certificates" in errors
    assert all(each.identity[:12] in errors for each in (new, site.served.link))
    code, output, _ = create(site, "rack-a7", "--certificate", new.identity[:12].upper())
    found = read_token(output)
    assert found is not None
    assert (code, found[1].link) == (0, new.identity)
