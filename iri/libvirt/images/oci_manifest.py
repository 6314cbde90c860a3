"""OCI manifests and indexes of disk images: which layer is what. Pure.

The media types are IronCore's, in their present and their earlier spelling; the part after the last dot says what a layer is. A
manifest comes from outside, so nothing in it is assumed to be well formed. Fields that are not used here are ignored: registries add
their own.

An index names one manifest for each architecture. A manifest names a config and layers: the rootfs, which becomes the disk, and
optionally a kernel with an initramfs, which the hypervisor loads. The config has the kernel's command line.

Limits: reads bytes that `registry` has fetched and verified. What a digest names is fetched by `images`.
"""

from __future__ import annotations

from typing import NoReturn

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.images import digest as digests
from iri.libvirt.images.digest import Digest

MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
CONFIG = "application/vnd.ironcore.image.config.v1+json"
CONFIGS = (CONFIG, "application/vnd.ironcore.image.config.v1alpha1+json")
PREFIX = "application/vnd.ironcore.image."
PARTS = ("rootfs", "kernel", "initramfs")
LARGEST_MANIFEST = 4 << 20
OS = "linux"


class Descriptor(msgspec.Struct, frozen=True):
    """One blob, as a manifest or an index names it."""

    digest: str = ""
    size: int = 0
    media_type: str = msgspec.field(name="mediaType", default="")


class ManifestPlatform(msgspec.Struct, frozen=True):
    """What the manifest's content runs on; empty where the index does not say."""

    architecture: str = ""
    os: str = ""


class ManifestEntry(Descriptor, frozen=True):
    platform: ManifestPlatform | None = None


class ManifestDocument(msgspec.Struct, frozen=True):
    """A manifest, which has layers, or an index, which has manifests."""

    media_type: str = msgspec.field(name="mediaType", default="")
    config: Descriptor = Descriptor()
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[ManifestEntry, ...] = ()


class ImageConfig(msgspec.Struct, frozen=True, rename={"command_line": "commandLine"}):
    command_line: str = ""


class ImageArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """The digests of its blobs."""

    config: Digest
    rootfs: Digest
    kernel: Digest | None = None
    initramfs: Digest | None = None


def parse_document(body: bytes) -> ManifestDocument:
    """A manifest or an index: registries do not always say which, so the fields decide."""
    try:
        return msgspec.json.decode(body, type=ManifestDocument)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"cannot read the registry's manifest: {error}") from None


def choose_manifest(index: ManifestDocument, architecture: str) -> Digest:
    """The manifest for the architecture; when none is given, the index must have just one."""
    entries = [entry for entry in index.manifests if entry.platform is None or entry.platform.os in ("", OS)]
    names = [entry.platform.architecture if entry.platform else "" for entry in entries]
    fits = [
        entry
        for entry, name in zip(entries, names, strict=True)
        if not architecture or name in (architecture, "")
    ]
    if not fits:
        has = ", ".join(sorted(filter(None, names))) or "none"
        raise InvalidArgument(f"the image does not exist for {architecture}, only for: {has}")
    if len(fits) > 1 and not architecture:
        raise InvalidArgument(f"the image exists for {', '.join(sorted(names))}: name the architecture")
    return digests.parse(fits[0].digest)


def parse_artifact(manifest: ManifestDocument) -> ImageArtifact:
    """Layers of other media types are ignored; two layers of one kind are refused."""
    if manifest.config.media_type not in CONFIGS:
        _refuse(f"its config is of type {manifest.config.media_type[:100]!r}, not {CONFIG!r}")
    parts: dict[str, Digest] = {}
    for layer in manifest.layers:
        part = layer.media_type.rpartition(".")[2]
        if not layer.media_type.startswith(PREFIX) or part not in PARTS:
            continue
        if part in parts:
            _refuse(f"it has two layers of {part}")
        parts[part] = _blob(layer)
    if "rootfs" not in parts:
        _refuse("it has no rootfs")
    return ImageArtifact(config=_blob(manifest.config), **parts)


def parse_command_line(config: bytes) -> str:
    """The kernel's command line; empty when the config names none."""
    try:
        return msgspec.json.decode(config, type=ImageConfig).command_line
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse(f"cannot read its config: {error}")


def _blob(descriptor: Descriptor) -> Digest:
    """The digest of a layer or of the config. It alone is relied on, not the size."""
    if descriptor.size < 0:
        _refuse("one of its layers has a negative size")
    return digests.parse(descriptor.digest)


def _refuse(reason: str) -> NoReturn:
    """InvalidArgument: no retry with this manifest can succeed."""
    raise InvalidArgument(f"the OCI artifact is not a disk image: {reason}")
