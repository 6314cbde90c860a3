"""The link in gitvirt.yaml: which certificates can be listed, where, and once; and that a private key is never quoted."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import sys

import pytest

from schemas.problem import Severity
from schemas.settings import fleet, host
from schemas.settings.certificate import Certificate, RefusedCertificate, read_certificate
from schemas.settings.fleet import FleetSettings
from schemas.settings.link import RIGHTS, ClientEntry, check_namespaces
from tests.schemas.settings.certificates import KeyKind, certificate, link_certificate, make

ID = "3c0f3b4e-58b5-4b7e-9f51-4a4a9f8d8f10"
HOST, LINK, CLIENT = certificate("a"), link_certificate(), certificate("ci")
CERTIFICATE, KEY = make()


def settings(**sections: object) -> bytes:
    return json.dumps({"fleet": {"id": ID}, **sections}).encode()


def client(*certificates: str, **fields: object) -> dict[str, object]:
    return {"certificates": certificates, "namespaces": ["default"], "rights": ["read"], **fields}


def test_a_fleet_lists_the_certificates_of_the_link_of_hosts_and_of_clients() -> None:
    second = certificate("a-second")
    found = fleet.parse(
        settings(
            link={"addresses": ["link.example.org:7443", "[2001:db8::1]:7443"], "certificates": [LINK]},
            poollets={"a": {"certificates": [HOST, second]}, "b": None, "c": {}},
            clients={"ci": client(CLIENT, namespaces=["*"], rights=list(RIGHTS))},
        )
    )
    assert isinstance(found, FleetSettings), found
    assert [(each.owner, each.kind, each.name, each.pem) for each in found.certificate_entries()] == [
        ("link", "link", "", LINK),
        ("poollets.a", "poollets", "a", HOST),
        ("poollets.a", "poollets", "a", second),
        ("clients.ci", "clients", "ci", CLIENT),
    ]
    assert found.link.addresses[0] == "link.example.org:7443"


def test_a_fleet_without_a_link_has_none() -> None:
    found = fleet.parse(settings())
    assert isinstance(found, FleetSettings)
    assert (found.link.addresses, found.certificate_entries(), found.heartbeat.link_milliseconds) == (
        (),
        (),
        2000,
    )


def test_settings_without_certificates_load_no_library_of_cryptography() -> None:
    script = f"""
import sys
from schemas.settings import fleet
assert isinstance(fleet.parse({settings()!r}), fleet.FleetSettings)
assert not [name for name in sys.modules if name.startswith("cryptography")]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_identity_is_the_digest_of_the_whole_certificate() -> None:
    found = read_certificate(HOST)
    assert isinstance(found, Certificate)
    assert found.identity == hashlib.sha256(ssl.PEM_cert_to_DER_cert(HOST)).hexdigest()
    renamed = read_certificate(make("a", "p384")[0])
    assert isinstance(renamed, Certificate)
    assert renamed.identity != found.identity


@pytest.mark.parametrize("kind", ["p256", "p384", "rsa2048"])
def test_keys_that_tls_in_grpc_can_use_are_accepted(kind: KeyKind) -> None:
    assert isinstance(read_certificate(make("rack", kind)[0]), Certificate)


CUT = CERTIFICATE.replace("-----END CERTIFICATE-----", "")
LINES = CERTIFICATE.splitlines()
# Of a version that X.509 does not have: the library has an error of its own for it.
REPLACED = ssl.DER_cert_to_PEM_cert(
    ssl.PEM_cert_to_DER_cert(CERTIFICATE).replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x2c", 1)
)
REFUSED = [
    ("empty", "", "GV605"),
    ("a path", "/etc/gitvirt/link.crt", "GV605"),
    ("a public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHY1 who", "GV605"),
    ("cut off", CUT, "GV605"),
    ("a line lost", "\n".join([*LINES[:2], *LINES[3:]]), "GV605"),
    ("text before it", f"rack-a1:\n{CERTIFICATE}", "GV605"),
    ("several", CERTIFICATE + HOST, "GV605"),
    ("a private key", KEY, "GV606"),
    ("both", CERTIFICATE + KEY, "GV606"),
    ("Ed25519", make("rack", "ed25519")[0], "GV607"),
    ("short RSA", make("rack", "rsa1024")[0], "GV607"),
    ("another curve", make("rack", "p521")[0], "GV607"),
    ("DSA", make("rack", "dsa")[0], "GV607"),
    ("another version of X.509", REPLACED, "GV605"),
    ("no key usage", make("rack", usage=None)[0], "GV607"),
    ("signs certificates", make("rack", usage=(True, True))[0], "GV607"),
    ("signs nothing", make("rack", usage=(False, False))[0], "GV607"),
]


@pytest.mark.parametrize(("text", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_not_one_usable_certificate_is_refused_and_never_quoted(text: str, code: str) -> None:
    found = read_certificate(text)
    assert isinstance(found, RefusedCertificate)
    assert found.code == code
    secret = KEY.splitlines()[1]
    assert secret not in str(found)
    problems = fleet.parse(settings(poollets={"a": {"certificates": [text]}}))
    assert isinstance(problems, tuple)
    assert [(each.code, each.pointer) for each in problems] == [(code, "/poollets/a/certificates/0")]
    assert secret not in str(problems)


WRONG = [
    ("addresses alone", {"link": {"addresses": ["a:1"]}}, "GV609", "/link/addresses"),
    ("certificates alone", {"link": {"certificates": [LINK]}}, "GV609", "/link/certificates"),
    ("a scheme", {"link": {"addresses": ["https://a:1"], "certificates": [LINK]}}, "GV624", "/link/addresses/0"),
    ("no port", {"link": {"addresses": ["a"], "certificates": [LINK]}}, "GV624", "/link/addresses/0"),
    ("port 0", {"link": {"addresses": ["a:0"], "certificates": [LINK]}}, "GV624", "/link/addresses/0"),
    ("port 65536", {"link": {"addresses": ["a:65536"], "certificates": [LINK]}}, "GV624", "/link/addresses/0"),
    ("other name", {"link": {"addresses": ["a:1"], "certificates": [HOST]}}, "GV626", "/link/certificates/0"),
    ("two hosts", {"poollets": {"a": {"certificates": [HOST]}, "b": {"certificates": [HOST]}}}, "GV608", "/poollets/b/certificates/0"),
    ("twice", {"poollets": {"a": {"certificates": [HOST, HOST]}}}, "GV608", "/poollets/a/certificates/1"),
    ("another layout", {"poollets": {"a": {"certificates": [HOST, f"\n{HOST}\n"]}}}, "GV608", "/poollets/a/certificates/1"),
    ("host and client", {"poollets": {"a": {"certificates": [HOST]}}, "clients": {"a": client(HOST)}}, "GV608", "/clients/a/certificates/0"),
    ("host and link", {"poollets": {"a": {"certificates": [LINK]}}, "link": {"addresses": ["a:1"], "certificates": [LINK]}}, "GV608", "/poollets/a/certificates/0"),
    ("three", {"poollets": {"a": {"certificates": [HOST, CLIENT, LINK]}}}, "GV211", "/poollets/a/certificates"),
    ("not a list", {"poollets": {"a": {"certificates": HOST}}}, "GV203", "/poollets/a/certificates"),
    ("unknown right", {"clients": {"a": client(HOST, rights=["destory"])}}, "GV204", "/clients/a/rights/0"),
    ("right twice", {"clients": {"a": client(HOST, rights=["read", "read"])}}, "GV210", "/clients/a/rights"),
    ("no rights", {"clients": {"a": {"certificates": [HOST], "namespaces": []}}}, "GV202", "/clients/a"),
    ("a namespace's name", {"clients": {"a": client(HOST, namespaces=["Web"])}}, "GV205", "/clients/a/namespaces/0"),
    ("a client's name", {"clients": {"A": client(HOST)}}, "GV205", "/clients/A"),
    ("too often", {"heartbeat": {"link": "0s"}}, "GV627", "/heartbeat/link"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sections", "code", "pointer"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_each_mistake_about_the_link_is_named_with_its_place(
    sections: dict[str, object], code: str, pointer: str
) -> None:
    problems = fleet.parse(settings(**sections))
    assert isinstance(problems, tuple), problems
    assert [(each.code, each.pointer) for each in problems] == [(code, pointer)]
    assert problems[0].hint


def test_an_unknown_right_names_the_known_ones() -> None:
    (problem,) = fleet.parse(settings(clients={"a": client(HOST, rights=["destory"])}))  # type: ignore[misc]
    assert "did you mean destroy" in problem.hint
    assert all(right in problem.message for right in RIGHTS)


def test_the_schema_and_the_code_have_the_same_rights() -> None:
    from schemas.manifest.schema_file import load_schema

    client = load_schema("fleet.json")["properties"]["clients"]["additionalProperties"]
    assert tuple(client["properties"]["rights"]["items"]["enum"]) == RIGHTS


@pytest.mark.parametrize(
    "wrong",
    [
        {"signatures": {"signers": [KEY]}},
        {"link": {"key": KEY}},
        {"link": KEY},
        {"link": {"addresses": [KEY]}},
        {"branches": {"source": KEY}},
        {"poollets": {KEY: {}}},
        {"poollets": {"a": {KEY: 1}}},
        {KEY: 1},
    ],
)
def test_no_message_quotes_a_private_key_wherever_it_was_pasted(wrong: dict[str, object]) -> None:
    problems = fleet.parse(settings(**wrong))
    assert isinstance(problems, tuple)
    assert all(
        line[:24] not in each.message + each.hint for each in problems for line in KEY.splitlines()[1:-1]
    )


@pytest.mark.parametrize(
    ("namespaces", "rights", "right", "namespace", "may"),
    [
        (("default",), ("read",), "read", "default", True),
        (("default",), ("read",), "read", "other", False),
        (("default",), ("read",), "stop", "default", False),
        (("*",), ("stop",), "stop", "other", True),
        ((), ("read",), "read", "default", False),
        ((), ("read",), "read", None, True),
        (("*",), (), "read", "default", False),
        (("*",), (), "read", None, False),
    ],
)
def test_a_client_may_do_what_its_entry_lists_and_nothing_else(
    namespaces: tuple[str, ...], rights: tuple[str, ...], right: str, namespace: str | None, may: bool
) -> None:
    entry = ClientEntry(certificates=(), namespaces=namespaces, rights=rights)  # type: ignore[arg-type]
    assert entry.may(right, namespace) is may  # type: ignore[arg-type]


def test_a_host_names_the_files_of_its_key_and_certificate() -> None:
    base = {"name": "a", "repo": {"url": "/srv/fleet.git"}}
    found = host.parse(json.dumps({**base, "link": {"key": "/k", "certificate": "/c"}}).encode())
    assert isinstance(found, host.PoolletSettings)
    assert found.link is not None
    assert (found.link.key, found.link.certificate) == ("/k", "/c")
    without = host.parse(json.dumps(base).encode())
    assert isinstance(without, host.PoolletSettings)
    assert without.link is None
    half = host.parse(json.dumps({**base, "link": {"key": "/k"}}).encode())
    assert isinstance(half, tuple)
    assert [(each.code, each.pointer) for each in half] == [("GV202", "/link")]


@pytest.mark.parametrize(
    ("namespaces", "hint"),
    [(("default",), None), (("*",), None), ((), None), (("defualt",), "did you mean default?"), (("web",), "write * for all namespaces")],
)  # fmt: skip
def test_a_namespace_in_which_nothing_is_declared_is_a_warning(
    namespaces: tuple[str, ...], hint: str | None
) -> None:
    entry = ClientEntry(certificates=(), namespaces=namespaces, rights=("read",))
    found = list(check_namespaces({"ci": entry}, {"default", ""}))
    want = [("GV625", "/clients/ci/namespaces/0", Severity.WARNING, hint)] if hint else []
    assert [(each.code, each.pointer, each.severity, each.hint) for each in found] == want


def test_a_fleet_of_5000_hosts_with_two_certificates_each_fits_into_its_settings() -> None:
    """One certificate for all, which is a problem of its own: that each of the others is found shows that all were read."""
    hosts = {
        f"rack-{number}": {"pools": [f"rack-{number}"], "certificates": [HOST, HOST]}
        for number in range(5000)
    }
    found = fleet.parse(settings(poollets=hosts))
    assert isinstance(found, tuple)
    assert {each.code for each in found} == {"GV608"}
    assert len(found) == 2 * 5000 - 1
