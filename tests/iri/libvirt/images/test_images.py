"""Images fetched from real servers, good ones and bad ones."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.errors import FailedPrecondition, InvalidArgument, IRIError, NotFound, ResourceExhausted, Unavailable
from iri.libvirt.images.images import Images, LocalImage
from tests.iri.libvirt.images.conftest import Asking
from tests.servers.certificates import authority
from tests.servers.depot import INDEX, Depot, depot_server, digest_of
from tests.servers.mounts import small_filesystem

BODY = os.urandom(1 << 10) * 700
SHA = hashlib.sha256(BODY).hexdigest()


def ensure(images: Images, asking: Asking, text: str, architecture: str = "") -> LocalImage:
    return images.ensure(text, architecture, asking.tell)


def test_url_with_digest_is_fetched_once_and_verified(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    images = asking.images()
    image = ensure(images, asking, f"{url}#sha256={SHA}")
    assert image.path.read_bytes() == BODY
    assert (image.format, image.virtual_bytes) == ("raw", len(BODY))
    assert image.reference == f"{url}#sha256:{SHA}"
    assert ensure(images, asking, f"{url}#sha256={SHA}") == image
    assert ensure(asking.images(), asking, f"{depot.url('/elsewhere')}#sha256={SHA}").path == image.path
    assert depot.times("/a.img") == 1
    assert [reason for reason, _ in asking.told] == ["PullingImage", "ImagePullSucceeded"]
    assert asking.partials() == []


def test_sha512_is_accepted(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    digest = hashlib.sha512(BODY).hexdigest()
    assert ensure(asking.images(), asking, f"{url}#sha512={digest}").path.name == f"sha512-{digest}"


def test_wrong_checksum_is_refused_and_nothing_is_kept(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY + b"!")
    with pytest.raises(FailedPrecondition, match=f"not sha256:{SHA}"):
        ensure(asking.images(), asking, f"{url}#sha256={SHA}")
    assert asking.blobs() == []
    assert asking.partials() == []


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, NotFound), (410, NotFound), (403, FailedPrecondition), (401, FailedPrecondition), (500, Unavailable), (503, Unavailable)],
)  # fmt: skip
def test_answer_of_the_server_is_in_the_error(
    depot: Depot, asking: Asking, status: int, error: type[IRIError]
) -> None:
    url = depot.put("/a.img", BODY)
    depot.answer = status
    with pytest.raises(error, match=f"answers {status} .* for http://{depot.host}/a.img$"):
        ensure(asking.images(), asking, f"{url}?signature=hidden#sha256={SHA}")
    assert "hidden" not in str(asking.told)
    assert asking.blobs() == []


def test_server_that_is_down_is_unavailable(asking: Asking) -> None:
    with pytest.raises(Unavailable, match=r"127.0.0.1:1 does not answer: .*refused"):
        ensure(asking.images(), asking, f"http://127.0.0.1:1/a.img#sha256={SHA}")


def test_server_that_stops_sending_is_unavailable(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    depot.pause = 3.0
    started = time.monotonic()
    with pytest.raises(Unavailable, match=r"was interrupted: .*timed out"):
        ensure(asking.images(timeout_seconds=0.2), asking, f"{url}#sha256={SHA}")
    assert time.monotonic() - started < 2


def test_interrupted_transfer_continues_where_it_stopped(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    depot.break_after, depot.breaks = 200_000, 1
    with pytest.raises(Unavailable, match=f"interrupted the transfer after 200000 of {len(BODY)} bytes"):
        ensure(asking.images(), asking, f"{url}#sha256={SHA}")
    assert ensure(asking.images(), asking, f"{url}#sha256={SHA}").path.read_bytes() == BODY
    assert depot.requests == [("/a.img", ""), ("/a.img", "bytes=200000-")]


@pytest.mark.parametrize("lacks", ["has_ranges", "has_etags"])
def test_transfer_starts_again_when_the_server_cannot_continue(
    depot: Depot, asking: Asking, lacks: str
) -> None:
    url = depot.put("/a.img", BODY)
    setattr(depot, lacks, False)
    depot.break_after, depot.breaks = 200_000, 1
    with pytest.raises(Unavailable):
        ensure(asking.images(), asking, f"{url}#sha256={SHA}")
    assert ensure(asking.images(), asking, f"{url}#sha256={SHA}").path.read_bytes() == BODY


def test_transfer_starts_again_when_the_content_has_changed(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", b"old" * 200_000)
    depot.break_after, depot.breaks = 200_000, 1
    with pytest.raises(Unavailable):
        ensure(asking.images(), asking, f"{url}#sha256={SHA}")
    depot.put("/a.img", BODY)
    assert ensure(asking.images(), asking, f"{url}#sha256={SHA}").path.read_bytes() == BODY


def test_complete_partial_file_is_used(depot: Depot, asking: Asking) -> None:
    """The process was killed after the last byte and before the rename."""
    url = depot.put("/a.img", BODY)
    depot.break_after, depot.breaks = len(BODY) - 1, 1
    with pytest.raises(Unavailable):
        ensure(asking.images(), asking, f"{url}#sha256={SHA}")
    [partial] = [asking.folder / "partial" / name for name in asking.partials() if "." not in name]
    partial.write_bytes(BODY)
    assert ensure(asking.images(), asking, f"{url}#sha256={SHA}").path.read_bytes() == BODY
    assert asking.partials() == []


def test_image_requested_many_times_at_once_is_fetched_once(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    depot.pause = 0.01
    got: list[Path] = []
    requests = [
        threading.Thread(
            target=lambda: got.append(ensure(asking.images(), asking, f"{url}#sha256={SHA}").path)
        )
        for _ in range(8)
    ]
    for thread in requests:
        thread.start()
    for thread in requests:
        thread.join()
    assert len(got) == 8
    assert len(set(got)) == 1
    assert depot.times("/a.img") == 1


def test_progress_is_reported(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    depot.pause = 0.01
    Images(asking.settings, asking.folder, progress_seconds=0.02).ensure(
        f"{url}#sha256={SHA}", "", asking.tell
    )
    shares = [message for reason, message in asking.told if reason == "PullingImage" and "%" in message]
    assert shares
    assert shares == sorted(shares, key=lambda message: int(message.rpartition(": ")[2].partition("%")[0]))


def test_url_without_digest_is_checked_again_and_fetched_when_it_changed(
    depot: Depot, asking: Asking
) -> None:
    url = depot.put("/a.img", BODY)
    images = asking.images()
    first = ensure(images, asking, url)
    assert ensure(images, asking, url) == first
    depot.put("/a.img", b"new" * 100_000)
    second = ensure(images, asking, url)
    assert second.path.read_bytes() == b"new" * 100_000
    assert first.path.read_bytes() == BODY
    assert depot.times("/a.img") == 3


def test_known_image_is_used_while_its_server_is_down(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    first = ensure(asking.images(), asking, url)
    depot.answer = 503
    assert ensure(asking.images(), asking, url) == first
    assert asking.told[-1][0] == "ImageNotRefreshed"


def test_http_without_a_digest_is_refused(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    with pytest.raises(InvalidArgument, match="over http needs a digest"):
        ensure(asking.images(plain_http=()), asking, url)
    assert depot.requests == []


def test_only_allowed_sources_are_contacted(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    images = asking.images(sources=("https://images.example.org/", "registry.example.org/os/"))
    for text in (f"{url}#sha256={SHA}", "registry.example.org/private/a:1", "oci://other.example.org/a:1"):
        with pytest.raises(InvalidArgument, match="this host allows images from"):
            images.refuse(text)
        with pytest.raises(InvalidArgument, match="this host allows images from"):
            ensure(images, asking, text)
    images.refuse("oci://registry.example.org/os/a:1")
    assert depot.requests == []


def test_image_too_large_is_refused_before_it_is_fetched(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", BODY)
    with pytest.raises(InvalidArgument, match=f"{len(BODY)} bytes; at most 1000 are allowed"):
        ensure(asking.images(max_bytes=1000), asking, f"{url}#sha256={SHA}")
    assert asking.partials() == []


def test_untrusted_qcow2_is_refused_and_not_kept(depot: Depot, asking: Asking) -> None:
    url = depot.put("/a.img", b"QFI\xfb\0\0\0\3" + b"\0\0\0\0\0\0\0\x70" + bytes(4096))
    with pytest.raises(InvalidArgument, match="names a backing file"):
        ensure(asking.images(), asking, url)
    assert asking.blobs() == []


def test_cut_off_qcow2_is_refused(depot: Depot, asking: Asking, tmp_path: Path) -> None:
    depot.put("/a.img", b"QFI\xfb\0\0\0\3" + bytes(100))
    with pytest.raises(InvalidArgument, match="cut off"):
        ensure(asking.images(), asking, depot.url("/a.img"))


def test_full_disk_is_an_error_and_leaves_nothing(depot: Depot, asking: Asking, tmp_path: Path) -> None:
    """Once the server says how much comes, and once it does not."""
    with small_filesystem(tmp_path / "small", 1 << 20) as folder:
        url = depot.put("/a.img", bytes(4 << 20))
        asking.folder = folder / "images"
        digest = hashlib.sha256(bytes(4 << 20)).hexdigest()
        with pytest.raises(ResourceExhausted, match="image cache is full: 4194304 bytes needed"):
            ensure(asking.images(), asking, f"{url}#sha256={digest}")
        depot.says_length = False
        with pytest.raises(ResourceExhausted, match="image cache is full: no space left"):
            ensure(asking.images(), asking, f"{url}#sha256={digest}")
        assert asking.partials() == []
        assert asking.blobs() == []


@pytest.mark.parametrize("chunk", [1, 5000, 70_000, 1 << 20])
def test_disk_full_at_any_byte_leaves_nothing(
    depot: Depot, asking: Asking, tmp_path: Path, chunk: int
) -> None:
    """The last bytes may only be missed when the file is closed."""
    with small_filesystem(tmp_path / "small", 64 << 10) as folder:
        asking.folder = folder / "images"
        depot.says_length = False
        url = depot.put("/a.img", bytes((64 << 10) + chunk))
        with pytest.raises(ResourceExhausted, match="image cache is full: no space left"):
            ensure(asking.images(), asking, f"{url}#sha256={SHA}")
        assert asking.partials() == []


def test_keys_of_a_signed_url_are_in_no_message(depot: Depot, asking: Asking) -> None:
    url = f"{depot.put('/a.img', BODY)}?signature=hush#sha256={SHA}"
    image = ensure(asking.images(), asking, url)
    assert image.reference == f"{depot.url('/a.img')}#sha256:{SHA}"
    assert "hush" not in str(asking.told)


def test_redirect_is_followed(depot: Depot, asking: Asking) -> None:
    depot.put("/real.img", BODY)
    depot.redirects["/a.img"] = "/real.img"
    assert ensure(asking.images(), asking, f"{depot.url('/a.img')}#sha256={SHA}").path.read_bytes() == BODY


def test_redirect_to_a_file_is_not_followed(depot: Depot, asking: Asking) -> None:
    depot.redirects["/a.img"] = "file:///etc/passwd"
    with pytest.raises(Unavailable):
        ensure(asking.images(), asking, f"{depot.url('/a.img')}#sha256={SHA}")


def test_files_of_allowed_folders_are_images(asking: Asking, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "a.img").write_bytes(BODY)
    (tmp_path / "secret").write_bytes(BODY)
    (allowed / "link").symlink_to(tmp_path / "secret")
    (allowed / "loop").symlink_to(allowed / "loop")
    images = asking.images(paths=(str(allowed),))
    image = ensure(images, asking, str(allowed / "a.img"))
    assert image.path.read_bytes() == BODY
    assert image.path.parent == images.folder
    (allowed / "a.img").write_bytes(b"other" * 1000)
    assert image.path.read_bytes() == BODY
    with pytest.raises(FailedPrecondition, match="the image has digest"):
        ensure(images, asking, f"{allowed / 'a.img'}#sha256={SHA}")
    for name in (tmp_path / "secret", allowed / "link", allowed / "loop", allowed, allowed / "none"):
        with pytest.raises(NotFound, match="or is not in a folder that this host allows"):
            ensure(images, asking, str(name))


def test_unused_images_are_collected_and_used_ones_stay(depot: Depot, asking: Asking) -> None:
    images = asking.images(unused_seconds=3600)
    paths = [ensure(images, asking, depot.put(f"/{n}", bytes([n]) * 5000)).path for n in range(4)]
    assert images.collect(set()) == 0  # just asked for
    for hours, path in enumerate(paths, start=1):
        os.utime(path, (time.time() - hours * 3000,) * 2)
    assert images.collect({paths[3].name}) > 0
    assert asking.blobs() == sorted([paths[0].name, paths[3].name])
    assert asking.images(cache_bytes=1).collect({paths[3].name}) > 0
    assert asking.blobs() == [paths[3].name]
    assert ensure(images, asking, depot.url("/0")).path.exists()


# TLS


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Depot]:
    made = authority(tmp_path / "pki", "images")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    with depot_server(made.issue("depot", "IP:127.0.0.1")) as depot:
        yield depot


def test_server_with_a_trusted_certificate_is_contacted(secure: Depot, asking: Asking) -> None:
    assert ensure(asking.images(), asking, secure.put("/a.img", BODY)).path.read_bytes() == BODY
    secure.image("os/debian", "12", PARTS)
    assert ensure(asking.images(), asking, f"{secure.host}/os/debian:12").path.read_bytes() == BODY


def test_server_with_another_certificate_is_not_trusted(
    secure: Depot, asking: Asking, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority(tmp_path / "other", "other").ca))
    with pytest.raises(
        FailedPrecondition, match=f"{secure.host} is not trusted: .*self-signed|unable to get"
    ):
        ensure(asking.images(), asking, secure.put("/a.img", BODY))
    assert secure.requests == []


def test_redirect_from_tls_to_plain_http_is_not_followed(secure: Depot, depot: Depot, asking: Asking) -> None:
    secure.redirects["/a.img"] = depot.put("/a.img", BODY)
    with pytest.raises(FailedPrecondition, match="redirects to a URL without TLS"):
        ensure(asking.images(), asking, f"{secure.url('/a.img')}#sha256={SHA}")
    assert depot.requests == []


# OCI


PARTS = {"rootfs": BODY, "kernel": b"kernel" * 100, "initramfs": b"initramfs" * 100}


def test_artifact_is_pulled_by_tag(depot: Depot, asking: Asking) -> None:
    manifest = depot.image("os/debian", "12", PARTS, "console=ttyS0")
    image = ensure(asking.images(), asking, f"{depot.host}/os/debian:12")
    assert image.path.read_bytes() == BODY
    assert image.boot is not None
    assert Path(image.boot.kernel).read_bytes() == PARTS["kernel"]
    assert Path(image.boot.initramfs).read_bytes() == PARTS["initramfs"]
    assert image.boot.cmdline == "console=ttyS0"
    assert image.reference == f"{depot.host}/os/debian@{manifest['digest']}"
    assert ensure(asking.images(), asking, image.reference) == image
    assert depot.times(f"/v2/os/debian/blobs/{digest_of(BODY)}") == 1


def test_artifact_without_kernel_boots_from_its_disk(depot: Depot, asking: Asking) -> None:
    depot.image("os/debian", "latest", {"rootfs": BODY, "squashfs": b"unused"})
    image = ensure(asking.images(), asking, f"oci://{depot.host}/os/debian")
    assert image.boot is None
    assert len(asking.blobs()) == 1


def platform(manifest: dict[str, object], architecture: str) -> dict[str, object]:
    return manifest | {"platform": {"os": "linux", "architecture": architecture}}


def test_architecture_selects_from_an_index(depot: Depot, asking: Asking) -> None:
    ours = depot.image("os/debian", "x-amd64", {"rootfs": BODY})
    theirs = depot.image("os/debian", "x-arm64", {"rootfs": b"arm" * 10_000})
    index = {"schemaVersion": 2, "manifests": [platform(theirs, "arm64"), platform(ours, "amd64")]}
    depot.manifest("os/debian", "12", index, INDEX)
    images, text = asking.images(), f"{depot.host}/os/debian:12"
    assert ensure(images, asking, text, "amd64").path.read_bytes() == BODY
    assert ensure(images, asking, text, "arm64").path.read_bytes() == b"arm" * 10_000
    with pytest.raises(InvalidArgument, match="does not exist for riscv64, only for: amd64, arm64"):
        ensure(images, asking, text, "riscv64")
    with pytest.raises(InvalidArgument, match="name the architecture"):
        ensure(images, asking, text)


@pytest.mark.parametrize("password", ["", "ann:secret"])
def test_registry_gets_the_token_that_it_requires(
    depot: Depot, asking: Asking, password: str, tmp_path: Path
) -> None:
    depot.image("os/debian", "12", PARTS)
    depot.wants_token, depot.password = True, password
    login = tmp_path / "config.json"
    auth = "YW5uOnNlY3JldA=="
    login.write_text(f'{{"auths": {{"{depot.host}": {{"auth": "{auth}"}}}}}}' if password else "{}")
    image = ensure(asking.images(credentials=str(login)), asking, f"{depot.host}/os/debian:12")
    assert image.path.read_bytes() == BODY


def test_a_registry_that_asks_for_the_password_itself_gets_it(
    depot: Depot, asking: Asking, tmp_path: Path
) -> None:
    depot.image("os/debian", "12", PARTS)
    depot.wants_password, depot.password = True, "ann:secret"
    login = tmp_path / "config.json"
    login.write_text('{"auths": {"other.example.org": {"auth": "YW5uOnNlY3JldA=="}}}')
    text = f"{depot.host}/os/debian:12"
    with pytest.raises(FailedPrecondition, match="denies access to os/debian"):
        ensure(asking.images(credentials=str(login)), asking, text)
    # The file is read at each use: a login on the host is enough.
    login.write_text(f'{{"auths": {{"{depot.host}": {{"auth": "YW5uOnNlY3JldA=="}}}}}}')
    assert ensure(asking.images(credentials=str(login)), asking, text).path.read_bytes() == BODY


def test_refused_credentials_are_an_error_without_the_password(
    depot: Depot, asking: Asking, tmp_path: Path
) -> None:
    depot.image("os/debian", "12", PARTS)
    depot.wants_token, depot.password = True, "ann:secret"
    login = tmp_path / "config.json"
    login.write_text(f'{{"auths": {{"{depot.host}": {{"auth": "YW5uOndyb25n"}}}}}}')
    with pytest.raises(FailedPrecondition, match="refuses the configured credentials") as refused:
        ensure(asking.images(credentials=str(login)), asking, f"{depot.host}/os/debian:12")
    assert "YW5uOndyb25n" not in str(refused.value)


def test_credentials_do_not_follow_a_redirect_to_another_host(depot: Depot, asking: Asking) -> None:
    depot.image("os/debian", "12", {"rootfs": BODY})
    depot.wants_token = True
    layer = f"/v2/os/debian/blobs/{digest_of(BODY)}"
    depot.put("/storage", BODY)
    depot.redirects[layer] = f"http://localhost:{depot.port}/storage"
    ensure(asking.images(), asking, f"{depot.host}/os/debian:12")
    at = [path for path, _ in depot.requests].index("/storage")
    assert depot.authorizations[at] == ""


def test_manifest_with_another_digest_is_refused(depot: Depot, asking: Asking) -> None:
    manifest = depot.image("os/debian", "12", PARTS)
    depot.bodies[f"/v2/os/debian/manifests/{manifest['digest']}"] += b" "
    with pytest.raises(FailedPrecondition, match="manifest has digest sha256:"):
        ensure(asking.images(), asking, f"{depot.host}/os/debian@{manifest['digest']}")


def test_layer_with_another_digest_is_refused(depot: Depot, asking: Asking) -> None:
    depot.image("os/debian", "12", PARTS)
    depot.bodies[f"/v2/os/debian/blobs/{digest_of(BODY)}"] = b"evil" * 1000
    with pytest.raises(FailedPrecondition, match="the image has digest"):
        ensure(asking.images(), asking, f"{depot.host}/os/debian:12")


MALFORMED: list[tuple[str, object, str]] = [
    ("text", "words", "cannot read"),
    ("container", {"config": {"mediaType": "application/vnd.oci.image.config.v1+json"}}, "its config is of type"),
    ("no-rootfs", {"config": {"mediaType": "application/vnd.ironcore.image.config.v1+json", "digest": digest_of(b"")}}, "has no rootfs"),
    ("wrong-digest", {"config": {"mediaType": "application/vnd.ironcore.image.config.v1+json", "digest": "../../etc"},
      "layers": [{"mediaType": "application/vnd.ironcore.image.rootfs", "digest": "../../../etc/shadow"}]}, "invalid digest"),
    ("loop", {"manifests": [{"digest": "self"}]}, "invalid digest"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("manifest", "reason"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_manifest_that_is_not_a_disk_image_is_refused(
    depot: Depot, asking: Asking, manifest: object, reason: str
) -> None:
    depot.manifest("os/debian", "12", manifest)
    with pytest.raises(InvalidArgument, match=reason):
        ensure(asking.images(), asking, f"{depot.host}/os/debian:12")


def test_unknown_tag_is_not_found(depot: Depot, asking: Asking) -> None:
    with pytest.raises(NotFound, match="404"):
        ensure(asking.images(), asking, f"{depot.host}/os/none:1")
