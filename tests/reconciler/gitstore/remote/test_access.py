from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from reconciler.cli.codes import CODES
from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import AccessError, RemoteAccess, from_environment


def test_the_environment_beats_the_settings(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("from-file\n")
    settings = RemoteAccess(token_file=token, username="host-1", identity=Path("/old"))
    assert from_environment({}, settings) == settings
    access = from_environment({"GITVIRT_TOKEN": "from-env", "GITVIRT_IDENTITY": "/new"}, settings)
    assert access.secret() == SecretValue("from-env")
    assert access.identity == Path("/new")
    assert access.username == "host-1"


def test_every_setting_has_a_variable() -> None:
    names = {
        "GITVIRT_USERNAME": "u",
        "GITVIRT_TOKEN": "t",
        "GITVIRT_TOKEN_TYPE": "bearer",
        "GITVIRT_CA_FILE": "/ca",
        "GITVIRT_CERTIFICATE_FILE": "/crt",
        "GITVIRT_KEY_FILE": "/key",
        "GITVIRT_PROXY": "http://p:1",
        "GITVIRT_IDENTITY": "/id",
        "GITVIRT_KNOWN_HOSTS": "/kh",
        "GITVIRT_SSH_CONFIG": "/sc",
        "GITVIRT_GIT_CONFIG": "own",
    }
    changed = from_environment(names)
    changed = dataclasses.replace(
        changed, token_file=from_environment({"GITVIRT_TOKEN_FILE": "/tf"}).token_file
    )
    untouched = [
        field.name
        for field in dataclasses.fields(RemoteAccess)
        if getattr(changed, field.name) == getattr(RemoteAccess(), field.name)
    ]
    assert untouched == []


def test_a_token_file_is_read_for_every_call(tmp_path: Path) -> None:
    token = tmp_path / "token"
    access = RemoteAccess(token_file=token)
    token.write_text("one\n")
    assert access.secret() == SecretValue("one")
    token.write_text("two")
    assert access.secret() == SecretValue("two")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "No such file"),
        (b"", "empty"),
        (b"\n", "empty"),
        (b"S3CRET\nhost=evil", "control characters"),
        (b"S3CRET\rX: y", "control characters"),
        (b"S3CRET\xff", "not a text file"),
    ],
)
def test_an_unusable_token_is_an_error_that_does_not_show_it(
    tmp_path: Path, data: bytes | None, words: str
) -> None:
    token = tmp_path / "token"
    if data is not None:
        token.write_bytes(data)
    with pytest.raises(AccessError, match=words) as caught:
        RemoteAccess(token_file=token).secret()
    assert str(token) in caught.value.cause
    assert "S3CRET" not in f"{caught.value}{caught.value.cure}"
    assert caught.value.code in CODES


@pytest.mark.parametrize("name", ["GITVIRT_TOKEN_TYPE", "GITVIRT_GIT_CONFIG"])
def test_an_unknown_choice_is_named(name: str) -> None:
    with pytest.raises(AccessError, match=name):
        from_environment({name: "nonsense"})


def test_a_secret_never_prints() -> None:
    secret = SecretValue("S3CRET")
    access = RemoteAccess(token=secret, proxy=SecretValue("http://u:S3CRET@p"))
    for text in (str(secret), repr(secret), f"{secret}", repr(access), str(dataclasses.replace(access))):
        assert "S3CRET" not in text


def test_all_secrets_of_an_access_are_known_to_redaction() -> None:
    access = RemoteAccess(token=SecretValue("tok"), proxy=SecretValue("http://me:p%40ss@proxy:1"))
    assert {secret.reveal() for _, secret in access.secrets()} == {"tok", "p@ss", "p%40ss"}
    assert pickle.loads(pickle.dumps(access)) == access
