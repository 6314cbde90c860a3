"""The files of a key and its certificate: whole or absent, private, never overwritten; and what TLS in gRPC makes of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent import futures
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from reconciler.cli.access.key_pair import (
    PairFiles,
    PairNames,
    adopt_next,
    create_file,
    encode_key,
    ensure_pair,
    read_key,
    refuse_checkout,
    resume_adoption,
)
from reconciler.cli.exits import CommandError
from schemas.settings.certificate import LINK_NAME, Certificate, read_certificate
from tests.schemas.settings.certificates import DAY, KeyKind, make
from tests.schemas.settings.certificates import NOW as THEN

NOW = datetime.now(UTC)
TODAY = ((NOW - THEN) / DAY - 1, (NOW - THEN) / DAY + 1)  # valid at the time of the test
HOST, LINK = PairNames("rack-a1"), PairNames(LINK_NAME, LINK_NAME)


def files_in(folder: Path, name: str = "link") -> PairFiles:
    return PairFiles(folder / f"{name}.key", folder / f"{name}.crt")


def test_a_pair_is_made_once_private_and_valid_for_a_year(tmp_path: Path) -> None:
    files = files_in(tmp_path / "keys")
    pem = ensure_pair(files, LINK, NOW)
    found = read_certificate(pem)
    assert isinstance(found, Certificate)
    assert found.names == (LINK_NAME,)
    assert found.begins < NOW < found.ends
    assert abs(found.ends - NOW - timedelta(days=365)) < timedelta(seconds=1)
    assert files.key.stat().st_mode & 0o777 == 0o600
    assert files.key.parent.stat().st_mode & 0o777 == 0o700
    key = files.key.read_bytes()
    assert ensure_pair(files, LINK, NOW + timedelta(days=1)) == pem
    assert files.key.read_bytes() == key
    assert sorted(path.name for path in files.key.parent.iterdir()) == ["link.crt", "link.key"]


def test_a_name_longer_than_x509_allows_is_cut(tmp_path: Path) -> None:
    assert isinstance(
        read_certificate(ensure_pair(files_in(tmp_path), PairNames("n" * 253), NOW)), Certificate
    )


def test_a_key_without_a_certificate_gets_one(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    ensure_pair(files, HOST, NOW)
    key = files.key.read_bytes()
    files.certificate.unlink()  # as after a crash between the two
    ensure_pair(files, HOST, NOW)
    assert files.key.read_bytes() == key


def test_what_a_crash_left_of_a_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".link.key.partial").write_text("half")
    ensure_pair(files_in(tmp_path), HOST, NOW)
    assert not (tmp_path / ".link.key.partial").exists()


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("mine")
    with pytest.raises(CommandError, match="cannot create"):
        create_file(tmp_path / "key", b"other", 0o600)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("key", "mine")]


def break_certificate(files: PairFiles) -> None:
    files.certificate.write_text(make("other")[0])


def cut_certificate(files: PairFiles) -> None:
    files.certificate.write_text(files.certificate.read_text()[:200])


def use_ed25519(files: PairFiles) -> None:
    files.key.write_text(make("rack", "ed25519")[1])


WRONG = [
    ("the key is gone", lambda files: files.key.unlink(), "has no key"),
    ("others can read the key", lambda files: files.key.chmod(0o640), "other accounts may read the key"),
    ("not a key", lambda files: files.key.write_text("hunter2"), "not a private key"),
    ("a key of another kind", use_ed25519, "cannot use"),
    ("the certificate of another key", break_certificate, "does not belong to the key"),
    ("half a certificate", cut_certificate, "not a certificate"),
    ("a certificate for another name", lambda files: replace_by_host(files), "is not for the name"),
]


def replace_by_host(files: PairFiles) -> None:
    files.certificate.unlink()
    ensure_pair(files, HOST, NOW)


@pytest.mark.parametrize(("spoil", "words"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_files_that_do_not_go_together_are_an_error_and_stay(
    spoil: object, words: str, tmp_path: Path
) -> None:
    files = files_in(tmp_path)
    ensure_pair(files, LINK, NOW)
    assert callable(spoil)
    spoil(files)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CommandError, match=words) as found:
        ensure_pair(files, LINK, NOW)
    assert "hunter2" not in f"{found.value}{found.value.cure}"
    assert found.value.cure
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_key_is_made_inside_a_checkout(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(CommandError, match="inside the Git checkout"):
        ensure_pair(files_in(tmp_path / "keys"), HOST, NOW)
    assert not (tmp_path / "keys").exists()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="cannot create"):
        ensure_pair(files_in(tmp_path / "file"), HOST, NOW)


def test_the_next_pair_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    old, new = ensure_pair(files, HOST, NOW), ensure_pair(files.next, HOST, NOW)
    assert old != new
    adopt_next(files)
    assert ensure_pair(files, HOST, NOW) == new
    assert not files.next.is_there()
    adopt_next(files)  # a second call finds nothing to do
    assert files.key.stat().st_mode & 0o777 == 0o600


def test_a_rotation_that_is_killed_between_its_renames_is_ended_by_the_next_call(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    ensure_pair(files, HOST, NOW)
    new = ensure_pair(files.next, HOST, NOW)
    files.next.key.replace(files.key)
    with pytest.raises(CommandError, match="a rotation was interrupted"):
        ensure_pair(files, HOST, NOW)  # as in a dry run
    resume_adoption(files)
    assert ensure_pair(files, HOST, NOW) == new
    assert not files.next.is_there()


def test_a_next_certificate_of_another_key_never_takes_the_place_of_the_one_in_use(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    pem = ensure_pair(files, HOST, NOW)
    ensure_pair(files.next, HOST, NOW)
    files.next.key.unlink()  # by a person
    resume_adoption(files)
    assert ensure_pair(files, HOST, NOW) == pem


class Echo(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)


def can_call(listed: Sequence[str], own: tuple[bytes, str], tmp_path: Path) -> bool:
    """Whether a handshake succeeds with a server that trusts the listed certificates."""
    server_files = files_in(tmp_path, "server")
    link = ensure_pair(server_files, LINK, NOW).encode()
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((Echo(),))
    pair = [(server_files.key.read_bytes(), link)]
    roots = "".join(listed).encode()
    port = server.add_secure_port(
        "127.0.0.1:0", grpc.ssl_server_credentials(pair, roots, require_client_auth=True)
    )
    server.start()
    credentials = grpc.ssl_channel_credentials(link, own[0], own[1].encode())
    options = [("grpc.ssl_target_name_override", LINK_NAME)]
    try:
        with grpc.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
            call = channel.unary_unary("/any/Call", bytes, bytes)
            return bool(call(b"hello", timeout=30) == b"hello")
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:  # such as a time-out
            raise
        return False
    finally:
        server.stop(None)


def sign_another(files: PairFiles, subject: str) -> tuple[bytes, str]:
    """A certificate that the key of the files signed for a key of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    signed = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
        .sign(read_key(files.key), hashes.SHA256())
    )
    return encode_key(key), signed.public_bytes(Encoding.PEM).decode()


def test_tls_accepts_what_is_listed_and_nothing_that_its_key_signed(tmp_path: Path) -> None:
    first, second = files_in(tmp_path, "first"), files_in(tmp_path, "second")
    listed = [ensure_pair(each, HOST, NOW) for each in (first, second)]  # with one name, as in a rotation
    assert can_call(listed, (first.key.read_bytes(), listed[0]), tmp_path)
    assert can_call(listed, (second.key.read_bytes(), listed[1]), tmp_path)
    assert not can_call(listed[:1], (second.key.read_bytes(), listed[1]), tmp_path)
    assert not can_call(listed, sign_another(first, "rack-a2"), tmp_path)


def test_tls_would_accept_what_an_unrestricted_key_signed(tmp_path: Path) -> None:
    """Why a certificate without the key usage is refused in gitvirt.yaml. If this fails, the rule is not needed any more."""
    pem, key = make("rack-a1", usage=None, days=TODAY)
    files = files_in(tmp_path, "open")
    files.certificate.write_text(pem)
    create_file(files.key, key.encode(), 0o600)
    assert can_call([pem], sign_another(files, "rack-a2"), tmp_path)


@pytest.mark.parametrize("kind", ["ed25519", "p521"])
def test_tls_in_grpc_cannot_use_the_keys_that_are_refused(kind: KeyKind, tmp_path: Path) -> None:
    pem, key = make("rack-a1", kind, days=TODAY)
    assert not can_call([pem], (key.encode(), pem), tmp_path)


def test_the_umask_does_not_open_a_key(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        ensure_pair(files_in(tmp_path), HOST, NOW)
    finally:
        os.umask(old)
    assert (tmp_path / "link.key").stat().st_mode & 0o777 == 0o600


def test_a_key_beside_the_checkout_is_not_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "fleet"
    (checkout / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(checkout)
    monkeypatch.chdir(checkout)
    refuse_checkout(Path("../client.key"))
    refuse_checkout(Path("../keys/client.key"))
    for inside in (Path("client.key"), Path("../fleet/client.key"), tmp_path / "link" / "client.key"):
        with pytest.raises(CommandError, match="inside the Git checkout"):
            refuse_checkout(inside)
