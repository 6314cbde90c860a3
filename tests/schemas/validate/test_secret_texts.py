"""What looks like a secret, and what does not. Every alarm names a line and no value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.validate.secret_texts import find_secrets

SECRETS = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "PuTTY-User-Key-File-3: ssh-ed25519",
    "AGE-SECRET-KEY-1QQQ",
    "password: hunter2",
    "  passwd: $6$rounds=4096$abcdefgh$ijklmnop",
    "hashed_passwd: '$y$j9T$abcdefgh'",
    "plain_text_passwd: abc",
    "db_password=hunter2",
    'export DB_PASSWORD="hunter2"',
    '{"password": "hunter2"}',
    "client-secret: 5f4dcc3b",
    "API_KEY=abc",
    "aws_secret_access_key = abc",
    "echo root:hunter2 | chpasswd",
    "echo root:hunter2 | sudo chpasswd -e",
    "chpasswd:\n  list: |\n    root:a",
    "chpasswd: {list: 'root:a'}",
    "curl https://anna:hunter2@example.org/x",
    "curl -H 'Authorization: Bearer abcdefghijklmnop'",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghij_klm",
    "glpat-abcdefghijklmnop1234",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghij",
    "hvs.CAESIabcdefghijklmnopqrst",
    "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
]
HARMLESS = [
    "",
    "lock_passwd: true",
    "ssh_pwauth: false",
    "chpasswd: {expire: false}",
    "chpasswd: { expire: False }",
    "PasswordAuthentication no",
    "password:",
    "password: $PASSWORD",
    "password=${PASSWORD}",
    "password: {{ v1.password }}",
    'password="$(cat /run/password)"',
    "password_file: /run/password",
    "token_path=secrets/token",
    "secretName: web",
    "secret_ref: web",
    "POSTGRES_PASSWORD_FILE=pw",
    "hashed_passwd: '*'",
    "passwd: '!'",
    "disable_root: true",
    "curl https://example.org:8443/x@y",
    "curl https://$USER:$PASSWORD@example.org",
    "git clone https://example.org/tokens.git",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f anna@laptop",
    "apt-get install -y password-store",
    "systemctl enable --now keycloak",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_found_and_not_quoted(text: str) -> None:
    found = list(find_secrets(f"# first\n{text}\n"))
    assert found
    for line, what in found:
        assert line >= 1
        assert "hunter2" not in what
        assert "abcdef" not in what


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_is_left_alone(text: str) -> None:
    assert list(find_secrets(f"# first\n{text}\n")) == []


@given(st.text(max_size=300))
def test_any_text_is_examined(text: str) -> None:
    assert all(0 <= line <= text.count("\n") for line, _ in find_secrets(text))


@pytest.mark.parametrize(
    "piece",
    ["password", "a.", "https://a:", "K10", "eyJ", "$6$", "-----BEGIN ", "token-", " = ", "chpasswd:"],
)
def test_a_hostile_text_is_examined_in_bounded_time(piece: str) -> None:
    """The test has a limit of its own: a quadratic expression would take minutes."""
    assert len(list(find_secrets(piece * (65536 // len(piece))))) < 10
