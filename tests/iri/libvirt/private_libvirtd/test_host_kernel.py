"""Which kernel of a machine a guest gets, with which modules in which order."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.libvirt.private_libvirtd.host_kernel import HostKernel, NoKernelError, find_kernel, load_order

WANTED = ("virtio_blk", "virtio_rng", "isofs")
DEPENDENCIES = """kernel/fs/isofs/isofs.ko: kernel/drivers/cdrom/cdrom.ko
kernel/drivers/block/virtio_blk.ko: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/char/hw_random/virtio-rng.ko: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/cdrom/cdrom.ko:
kernel/other/other.ko:
"""


def install(root: Path, release: str, image: str = "boot/vmlinuz-{}", packing: str = "") -> Path:
    """A kernel as a distribution installs it. Each module holds its own name."""
    folder = root / "lib" / "modules" / release
    listed = DEPENDENCIES.replace(".ko", f".ko{packing}")
    for line in listed.splitlines():
        path = folder / line.partition(":")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.name.partition(".")[0].encode()
        match packing:
            case ".xz":
                path.write_bytes(lzma.compress(name))
            case ".gz":
                path.write_bytes(gzip.compress(name))
            case ".zst":
                path.write_bytes(
                    subprocess.run(["zstd", "-cq"], input=name, capture_output=True, check=True).stdout
                )
            case _:
                path.write_bytes(name)
    (folder / "modules.dep").write_text(listed)
    made = root / image.format(release)
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(release)
    return made


def unpack(folder: Path) -> Path:
    folder.mkdir()
    (folder / "vmlinuz").write_text("unpacked")
    (folder / "modules").write_text("virtio_ring\nvirtio\nvirtio-rng\n")
    for name in ("virtio_ring", "virtio", "virtio-rng"):
        (folder / f"{name}.ko").write_text(name)
    return folder


@pytest.mark.parametrize("packing", ["", ".gz", ".xz", ".zst"])
def test_modules_are_unpacked_and_ordered_after_their_dependencies(tmp_path: Path, packing: str) -> None:
    image = install(tmp_path, "6.1.0-1-amd64", packing=packing)
    kernel = find_kernel(WANTED, tmp_path)
    assert kernel.image == image
    modules = list(kernel.unpack_modules())
    assert [name for name, _ in modules] == [
        "virtio_ring",
        "virtio",
        "virtio_blk",
        "virtio_rng",
        "cdrom",
        "isofs",
    ]
    assert dict(modules)["virtio_blk"] == b"virtio_blk"


def test_builtin_modules_are_left_out(tmp_path: Path) -> None:
    install(tmp_path, "6.1.0-1-amd64")
    assert [path.name for path in find_kernel(("virtio_pci", "isofs"), tmp_path).modules] == [
        "cdrom.ko",
        "isofs.ko",
    ]


@pytest.mark.parametrize(
    ("id", "releases", "running", "want"),
    [
        ("the one that runs", ("6.1.0-9-amd64", "6.8.0-1-generic"), "6.1.0-9-amd64", "6.1.0-9-amd64"),
        ("else the latest", ("6.1.0-9-amd64", "6.1.0-10-amd64"), "6.12.0-cloud", "6.1.0-10-amd64"),
    ],
)
def test_best_kernel_of_several_is_chosen(
    tmp_path: Path, id: str, releases: tuple[str, ...], running: str, want: str
) -> None:
    for release in releases:
        install(tmp_path, release)
    assert find_kernel(WANTED, tmp_path, running).image.name == f"vmlinuz-{want}"


def test_kernel_beside_its_modules_is_found(tmp_path: Path) -> None:
    image = install(tmp_path, "6.9.1", "lib/modules/{}/vmlinuz")
    assert find_kernel(WANTED, tmp_path).image == image


def test_an_unpacked_kernel_is_the_last_resort(tmp_path: Path) -> None:
    own = unpack(tmp_path / "own")
    kernel = find_kernel(WANTED, tmp_path, unpacked=own)
    assert kernel == HostKernel(
        own / "vmlinuz", (own / "virtio_ring.ko", own / "virtio.ko", own / "virtio-rng.ko")
    )
    installed = install(tmp_path, "6.1.0-1-amd64")
    assert find_kernel(WANTED, tmp_path, unpacked=own).image == installed


def test_error_says_that_there_is_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(NoKernelError, match="no Linux kernel in /boot"):
        find_kernel(WANTED, tmp_path, unpacked=tmp_path / "nowhere")


def test_kernel_without_modules_is_not_used(tmp_path: Path) -> None:
    image = install(tmp_path, "6.1.0-1-amd64")
    shutil.rmtree(tmp_path / "lib")
    assert image.exists()
    with pytest.raises(NoKernelError):
        find_kernel(WANTED, tmp_path)


def test_error_names_the_missing_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = install(tmp_path, "6.8.0-1-generic", packing=".zst")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoKernelError, match=f"the modules of {image} need the program zstd"):
        find_kernel(WANTED, tmp_path)


@given(st.permutations(WANTED), st.permutations(DEPENDENCIES.splitlines()))
def test_modules_load_in_the_order_given(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[str], lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "modules.dep").write_text("\n".join(lines))
    loaded: set[str] = set()
    needs = dict(line.split(":", 1) for line in DEPENDENCIES.splitlines())
    for path in load_order(folder, wanted):
        name = str(path.relative_to(folder))
        assert set(needs[name].split()) <= loaded
        loaded.add(name)
    assert len(loaded) == 6
