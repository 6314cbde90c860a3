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
    "password: |\n  hunter2",
    "  - token: >-\n\n      hunter2",
    "password:\n  hunter2",
    "DB_PASS=hunter2",
    "PGPASS=hunter2",
    "export DB_PWD='hunter2'",
    "psk: hunter2",
    'psk="hunter2"',
    "  wpa-psk hunter2",
    "k3s agent --token hunter2",
    "mysqladmin --password 'hunter2' status",
    "openssl enc -pass pass:hunter2",
    "sshpass -p hunter2 ssh root@10.0.0.1",
    "sshpass -phunter2 ssh root@10.0.0.1",
    "mysql -phunter2 -e 'select 1'",
    "mysqldump -u root -p'hunter2' shop > shop.sql",
    "mariadb-admin -uroot -phunter2 ping",
    "  - sudo -u db mysql -phunter2",
    "runcmd: [mysql -phunter2]",
    "- [ mysql, -phunter2 ]",
    "systemctl start mysql && exec mysql -phunter2",
    "if ! /usr/bin/mysqladmin -phunter2 ping; then",
    "docker exec db mysql -phunter2",
    "kubectl exec db -- mysql -phunter2",
    "MYSQL_HOST=db mysql -phunter2",
    "$(mysql -phunter2 -e status)",
    "docker run -it --rm mysql mysql -hdb -phunter2",
    "docker run --rm mysql:8 mysql -hdb -phunter2",
    "docker exec -it -e A=b db mysql -uroot -phunter2",
    "ssh db mysqldump -phunter2 shop > shop.sql",
    "mysql -p12:34x shop",
    "ExecStart=/usr/bin/mysql -phunter2",
    "echo hunter2 | passwd --stdin root",
    "echo 'hunter2' | sudo passwd root --stdin",
    "passwd --stdin root <<< hunter2",
    "password: '@hunter2'",
    "password: '%hunter2'",
    "password: '(hunter2)'",
    "password: /hunter2",
    "password: '$hunter2!'",
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
    "password: |\n  {{ v1.password }}",
    "password: |\npackages: [git]",
    "password:\n  secretRef: web",
    "passwords:\n  - web",
    "DB_PASS=$DB_PASS",
    "DB_PASS=$(cat /run/password)",
    "psk-flags=0",
    "key-mgmt=wpa-psk",
    "bypass: localhost",
    "proxy_pass: http://127.0.0.1",
    "PWD=/root",
    "k3s agent --token $TOKEN --server https://10.0.0.1:6443",
    "k3s agent --token-file /run/token",
    "kubeadm join --token {{ token }}",
    "k3s agent --token",
    "adduser --disabled-password anna",
    "adduser --disabled-password --gecos '' anna",
    "sshpass -e ssh root@10.0.0.1",
    "sshpass -p $PASSWORD ssh root@10.0.0.1",
    "mysql -p -e 'select 1'",
    "mysql -p$PASSWORD shop",
    "mysql -u root -P 3306",
    "systemctl restart mysql; ssh -p2222 host",
    "apt-get install -y mysql-server",
    "docker run -d --name mysql -p3306:3306 mysql:8",
    "podman run mariadb -p127.0.0.1:3306:3306",
    "docker run -d --name mysql -p 127.0.0.1:3306:3306 mysql:8",
    "docker run --name mysql -p33060:33060/tcp -p[::1]:3306:3306 mysql:8",
    "docker run --name mysql -p3306 mysql:8",
    "nc -z mysql -p3306",
    "sudo -E docker run -d --name mysql -p3306 mysql:8",
    "sudo docker run -d --name mysql -p '3306:3306' mysql:8",
    "sudo podman run -d --name mariadb -p'3306-3310:3306-3310' mariadb:11",
    "- [docker, run, mysql, -p3306:3306]",
    "echo $PASSWORD | passwd --stdin root",
    "passwd --stdin root < /run/password",
    "curl -d password=@/run/password",
    "password=@PASSWORD@",
    "password = %(password)s",
    "password: /etc/ssl/key",
    "password: ~/key",
    "token: $SCHEME:$TOKEN",
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
    [
        "password",
        "password:\n",
        "password: |\n",
        "pass:\n\n",
        "--token ",
        "echo a|passwd ",
        "passwd --stdin ",
        "sshpass ",
        "a.",
        "https://a:",
        "K10",
        "eyJ",
        "$6$",
        "-----BEGIN ",
        "token-",
        " = ",
        "chpasswd:",
        "mysql ",
        "mysql -p1:1 ",
        "sudo -a psk ",
        "sudo psk -",
        "a=psk ",
        "psk/",
        "(a=psk ",
    ],
)
def test_a_hostile_text_is_examined_in_bounded_time(piece: str) -> None:
    """The test has a limit of its own: a quadratic expression would take minutes."""
    assert len(list(find_secrets(piece * (65536 // len(piece))))) < 10
