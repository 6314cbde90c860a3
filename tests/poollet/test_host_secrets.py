"""The operator's file of access data: read strictly, read again when it changes, and never shown (GV617)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from poollet.host_secrets import HostSecretsError, SecretsFile

GOOD = "default/data: {userID: YWRtaW4=, userKey: aHVudGVyMg==}\n"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_values_are_read_by_object_and_key(tmp_path: Path) -> None:
    found = SecretsFile(write(tmp_path / "s.yaml", GOOD)).current()
    assert found.get("default", "data") == {"userID": b"admin", "userKey": b"hunter2"}
    assert found.get("default", "other") is None
    assert "hunter2" not in repr(found)
    assert SecretsFile(None).current().get("default", "data") is None


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        (GOOD, 0o640, "others may read"),
        ("a: b: c\n", 0o600, ":1:"),
        ("[]\n", 0o600, "not a mapping"),
        ("data: {a: eA==}\n", 0o600, "'data'"),
        ("default/data: hunter2\n", 0o600, "default/data"),
        ("default/data: {a: 'hunter2!'}\n", 0o600, "default/data.a is not base64"),
        (GOOD + "---\n" + GOOD, 0o600, "not a mapping"),
    ],
)
def test_an_unusable_entry_is_named_without_its_value(
    tmp_path: Path, text: str, mode: int, words: str
) -> None:
    with pytest.raises(HostSecretsError, match=words) as caught:
        SecretsFile(write(tmp_path / "s.yaml", text, mode))
    assert caught.value.code == "GV617"
    assert "hunter2" not in f"{caught.value} {caught.value.cure}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostSecretsError, match="cannot read"):
        SecretsFile(tmp_path / "none")


def test_changes_of_the_file_are_read_and_mistakes_keep_the_last_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "s.yaml", GOOD)
    secrets = SecretsFile(path)
    fresh = write(tmp_path / "new", "default/data: {a: eA==}\n")
    fresh.replace(path)
    assert secrets.current().get("default", "data") == {"a": b"x"}
    write(tmp_path / "new", "oops: 1\n").replace(path)
    with caplog.at_level(logging.WARNING):
        assert secrets.current().get("default", "data") == {"a": b"x"}
    assert "cannot be read" in caplog.text
    fresh = write(tmp_path / "new", GOOD, 0o644).replace(path)
    assert secrets.current().get("default", "data") == {"a": b"x"}
    fresh.chmod(0o600)  # as the message said
    assert secrets.current().get("default", "data") == {"userID": b"admin", "userKey": b"hunter2"}
    path.unlink()
    assert secrets.current().get("default", "data") == {"userID": b"admin", "userKey": b"hunter2"}
