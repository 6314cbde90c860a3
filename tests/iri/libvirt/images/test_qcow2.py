"""Which files may become disks. The images are made by qemu-img, then spoiled."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt.images.qcow2 import ImageFormat, inspect

MIB = 1 << 20


def make_image(folder: Path, *options: str, size: str = "8M", backing: Path | None = None) -> Path:
    path = folder / "made.qcow2"
    rest = ["-b", str(backing), "-F", "raw"] if backing else [size]
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *options, str(path), *rest], check=True)
    return path


def with_data(folder: Path, *options: str) -> Path:
    raw = folder / "raw"
    raw.write_bytes(bytes(range(256)) * 4096 + bytes(MIB) + b"end" * 100_000)
    path = folder / "data.qcow2"
    subprocess.run(
        ["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", *options, str(raw), str(path)], check=True
    )
    return path


@pytest.mark.parametrize(
    "options",
    [(), ("-o", "compat=0.10"), ("-o", "cluster_size=4k"), ("-o", "extended_l2=on"), ("-c",), ("-c", "-o", "compression_type=zstd")],
    ids=["3", "2", "small-clusters", "extended", "deflate", "zstd"],
)  # fmt: skip
def test_complete_images_are_accepted(tmp_path: Path, options: tuple[str, ...]) -> None:
    image = with_data(tmp_path, *options)
    size = (tmp_path / "raw").stat().st_size
    assert inspect(image) == ImageFormat("qcow2", -(-size // 512) * 512)


def test_empty_disk_and_raw_disk_are_accepted(tmp_path: Path) -> None:
    assert inspect(make_image(tmp_path)) == ImageFormat("qcow2", 8 * MIB)
    raw = tmp_path / "raw"
    raw.write_bytes(b"\xeb\x63" + bytes(MIB - 2))
    assert inspect(raw) == ImageFormat("raw", MIB)


def patch(image: Path, offset: int, layout: str, value: int) -> None:
    with image.open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack(layout, value))


def truncate(image: Path, size: int) -> None:
    with image.open("r+b") as file:
        file.truncate(size)


SPOILED: list[tuple[str, Callable[[Path], None], str]] = [
    ("version", lambda image: patch(image, 4, ">I", 4), "version 4"),
    ("clusters", lambda image: patch(image, 20, ">I", 30), r"2\^30"),
    ("size", lambda image: patch(image, 24, ">Q", 1 << 60), "bytes large"),
    ("nothing", lambda image: patch(image, 24, ">Q", 0), "0 bytes large"),
    ("larger", lambda image: patch(image, 24, ">Q", 1 << 40), "too small for its size"),
    ("encrypted", lambda image: patch(image, 32, ">I", 1), "encrypted"),
    ("many-tables", lambda image: patch(image, 36, ">I", 1 << 31), "cut off"),
    ("table-beyond", lambda image: patch(image, 40, ">Q", 1 << 40), "cut off"),
    ("corrupt", lambda image: patch(image, 72, ">Q", 2), "marked corrupt"),
    ("data-file", lambda image: patch(image, 72, ">Q", 4), "in another file"),
    ("unknown", lambda image: patch(image, 72, ">Q", 1 << 20), "unknown here: 0x100000"),
    ("header", lambda image: truncate(image, 80), "cut off in its header"),
    ("tables", lambda image: truncate(image, 3 << 16), "cut off"),
    ("data", lambda image: truncate(image, image.stat().st_size * 2 // 3), "data lies beyond"),
]


@pytest.mark.parametrize(
    ("spoil", "reason"), [case[1:] for case in SPOILED], ids=[case[0] for case in SPOILED]
)
def test_damaged_images_are_refused(tmp_path: Path, spoil: Callable[[Path], None], reason: str) -> None:
    image = with_data(tmp_path)
    spoil(image)
    with pytest.raises(InvalidArgument, match=reason):
        inspect(image)


def test_image_with_a_backing_file_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(MIB))
    with pytest.raises(InvalidArgument, match="names a backing file"):
        inspect(make_image(tmp_path, backing=secret))


def test_image_with_a_data_file_is_refused(tmp_path: Path) -> None:
    image = make_image(tmp_path, "-o", f"data_file={tmp_path / 'elsewhere'},data_file_raw=on")
    with pytest.raises(InvalidArgument, match="in another file"):
        inspect(image)
    patch(image, 72, ">Q", 0)  # the name is left in the header
    with pytest.raises(InvalidArgument, match="in another file"):
        inspect(image)


@pytest.mark.parametrize("format", ["vmdk", "vdi", "vhdx", "qed", "vpc"])
def test_other_formats_are_refused_by_name(tmp_path: Path, format: str) -> None:
    image = tmp_path / "image"
    subprocess.run(["qemu-img", "create", "-q", "-f", format, str(image), "8M"], check=True)
    with pytest.raises(InvalidArgument, match={"vpc": "vhd"}.get(format, format)):
        inspect(image)


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(InvalidArgument, match="empty"):
        inspect(tmp_path / "empty")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(4, 111), st.integers(0, 255)), max_size=6))
def test_any_header_is_accepted_or_refused_with_a_reason(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    image = tmp_path / "data.qcow2"
    if not image.exists():
        with_data(tmp_path)
    head = image.read_bytes()[:112]
    try:
        with image.open("r+b") as file:
            for offset, value in changes:
                file.seek(offset)
                file.write(bytes([value]))
        with suppress(InvalidArgument):
            assert inspect(image).virtual_bytes > 0
    finally:
        with image.open("r+b") as file:
            file.write(head)
