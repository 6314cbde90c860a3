"""git http-backend behind nginx and fcgiwrap: http and https, passwords, bearer tokens, client certificates.

`/git/` asks for a password, `/bearer/` for a token, `/open/` for nothing, `/moved/` redirects to another host name.
The account's name reaches hooks as REMOTE_USER, so a repo's pre-receive hook can hold rights per ref.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.certificates import Authority, Certificate, authority
from tests.servers.daemon import free_port, running

LOOPBACK = "127.0.0.1"
BACKEND = Path("/usr/lib/git-core/git-http-backend")


@dataclass(frozen=True)
class WebServer:
    """Passwords and the token can be changed while it runs."""

    folder: Path
    http: int
    https: int
    mutual: int
    redirect_target: int
    authority: Authority
    client: Certificate
    address: str = LOOPBACK
    _accounts: dict[str, str] = field(default_factory=dict)

    @property
    def repos(self) -> Path:
        return self.folder / "repos"

    def url(self, repo: str, scheme: str = "http", place: str = "git") -> str:
        port = {"http": self.http, "https": self.https}[scheme]
        return f"{scheme}://{self.address}:{port}/{place}/{repo}"

    def mutual_url(self, repo: str) -> str:
        """Asks for a client certificate, and for nothing else."""
        return f"https://{self.address}:{self.mutual}/open/{repo}"

    def allow(self, user: str, password: str) -> None:
        self._accounts[user] = password
        self._write_accounts()

    def revoke(self, user: str) -> None:
        self._accounts.pop(user)
        self._write_accounts()

    def read_redirected(self) -> str:
        """Everything that asked to be let in at the place a redirect leads to."""
        log = self.folder / "redirect_target.log"
        return log.read_text() if log.exists() else ""

    def _write_accounts(self) -> None:
        lines = [f"{user}:{_digest(password)}\n" for user, password in self._accounts.items()]
        new = self.folder / "accounts.new"
        new.write_text("".join(lines))
        new.replace(self.folder / "accounts")


def _digest(password: str) -> str:
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()


@contextlib.contextmanager
def web_server(
    folder: Path, token: str, workers: int = 8, address: str = LOOPBACK, inside: Sequence[str] = ()
) -> Iterator[WebServer]:
    """`folder` must have a short path: a unix socket lives in it.

    `inside` are words before its command that take it into another network, where it has that address.
    """
    for name in ("repos", "tmp"):
        (folder / name).mkdir(parents=True)
    made = authority(folder / "pki", "fleet authority")
    own = made.issue("server", f"DNS:localhost,IP:{address}")
    http, https, mutual, redirect_target = (free_port() for _ in range(4))
    server = WebServer(folder, http, https, mutual, redirect_target, made, made.issue("client"), address)
    server._write_accounts()
    config = folder / "nginx.conf"
    config.write_text(_config(server, own, token))
    socket = folder / "cgi"
    fcgiwrap = [_program("fcgiwrap"), "-f", "-c", str(workers), "-s", f"unix:{socket}"]
    nginx: list[str | Path] = [
        *inside,
        _program("nginx"),
        "-c",
        config,
        "-p",
        folder,
        "-e",
        folder / "nginx.log",
    ]
    listens = folder / "nginx.pid"  # written once it does
    with (
        running(fcgiwrap, socket.exists, folder / "cgi.log"),
        running(nginx, listens.exists, folder / "nginx.log"),
    ):
        socket.chmod(0o666)
        yield server


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert found, f"{name} is not installed: make setup-test"
    return found


def _config(server: WebServer, own: Certificate, token: str) -> str:
    folder = server.folder
    places = "\n".join(
        f"{kind}_temp_path {folder}/tmp/{kind};"
        for kind in ("client_body", "fastcgi", "proxy", "uwsgi", "scgi")
    )
    tls = f"ssl_certificate {own.certificate}; ssl_certificate_key {own.key};"
    password = f'auth_basic "git"; auth_basic_user_file {folder}/accounts;'
    bearer = f'if ($http_authorization != "Bearer {token}") {{ return 401 "no such token"; }}'
    moved = f"return 301 http://localhost:{server.redirect_target}/git/$1$is_args$args;"
    return f"""
user {getpass.getuser()}; daemon off; worker_processes 1; pid {folder}/nginx.pid;
events {{ worker_connections 512; }}
http {{
  access_log off; client_max_body_size 0; keepalive_timeout 5;
  {places}
  log_format asked '$request authorization=[$http_authorization]';
  server {{
    listen {server.address}:{server.http}; listen {server.address}:{server.https} ssl; {tls}
    location ~ ^/git(/.*)$ {{ {password} {_backend(folder, "$remote_user")} }}
    location ~ ^/bearer(/.*)$ {{ {bearer} {_backend(folder, "bearer")} }}
    location ~ ^/open(/.*)$ {{ {_backend(folder, "anybody")} }}
    location ~ ^/moved/(.*)$ {{ {moved} }}
  }}
  server {{
    listen {server.address}:{server.mutual} ssl; {tls}
    ssl_client_certificate {server.authority.ca}; ssl_verify_client on;
    location ~ ^/open(/.*)$ {{ {_backend(folder, "$ssl_client_s_dn")} }}
  }}
  server {{
    listen {server.address}:{server.redirect_target}; access_log {folder}/redirect_target.log asked;
    location / {{ add_header WWW-Authenticate 'Basic realm="elsewhere"' always; return 401; }}
  }}
}}
"""


def _backend(folder: Path, user: str) -> str:
    given = {
        "SCRIPT_FILENAME": BACKEND,
        "GIT_PROJECT_ROOT": folder / "repos",
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": "$1",
        "REMOTE_USER": user,
        "REMOTE_ADDR": "$remote_addr",
        "QUERY_STRING": "$query_string",
        "REQUEST_METHOD": "$request_method",
        "CONTENT_TYPE": "$content_type",
        "CONTENT_LENGTH": "$content_length",
        "HTTP_GIT_PROTOCOL": "$http_git_protocol",
        "HTTP_CONTENT_ENCODING": "$http_content_encoding",
    }
    lines = " ".join(f'fastcgi_param {name} "{value}";' for name, value in given.items())
    return f"gzip off; fastcgi_request_buffering off; fastcgi_buffering off; {lines} fastcgi_pass unix:{folder}/cgi;"
