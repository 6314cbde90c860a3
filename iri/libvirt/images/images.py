"""Images for the rest of the runtime: a reference in, files of this host out.

`ensure` blocks until the image is cached. However many callers ask for the same image, it is fetched once. A tag or URL without a
digest is checked with its server each time, and served from the cache when the server does not answer.

    reference                 the server is asked        the content counts as
    path                      never                      the file's digest now; a copy is cached, because the original may change
    URL with a digest         once                       that digest
    URL without a digest      each time                  what the server has, or had at the last answer
    OCI tag                   each time                  the manifest that the tag has now
    OCI digest                each time, for the manifest   that manifest; layers are fetched once

`refuse` is quick and asks no server: calls use it, so a spec that can never work is refused at once. Must never happen: a spec reads a
file outside of the folders that the operator allows, by a link or by a name; an image that was not inspected becomes a disk.

    reference        how its content is checked
    with a digest    before it enters the cache; other content is an error and is discarded
    URL without one  the file is inspected before it enters the cache
    any              inspected before it becomes a disk, once in the life of the process

Threads: any number may ask for one image. The first locks its partial file and fetches; the others wait for the lock and find the blob.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import msgspec

from iri.errors import (
    FailedPrecondition,
    ImageNotResolvable,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from iri.libvirt.device_sources import Boot
from iri.libvirt.images import http_fetch, oci_manifest, qcow2, reference
from iri.libvirt.images.cache import CachedName, ImageCache, digest_of
from iri.libvirt.images.digest import Digest
from iri.libvirt.images.http_fetch import Fetched, FetchLimits
from iri.libvirt.images.qcow2 import ImageFormat
from iri.libvirt.images.reference import FileReference, OciReference, UrlReference
from iri.libvirt.images.registry import Registry
from iri.libvirt.images.settings import ImageSettings

PROGRESS_SECONDS = 2.0
FRESH_SECONDS = 600.0  # an image that was just fetched is about to be used
MIB = 1 << 20
LONGEST_NAME = 200  # of an image, in messages
CURE = "correct the name, or make the image available to this host"
Tell = Callable[[str, str], None]
"""Takes a reason in CamelCase and a message for people."""


class LocalImage(msgspec.Struct, frozen=True, kw_only=True):
    """`reference`: its name with its digest, without the keys of signed URLs."""

    reference: str
    path: Path
    format: str  # "raw" or "qcow2"
    virtual_bytes: int
    boot: Boot | None = None  # when it brings a kernel


class Images:
    """Thread-safe."""

    def __init__(
        self, settings: ImageSettings, folder: Path, *, progress_seconds: float = PROGRESS_SECONDS
    ) -> None:
        self._settings = settings
        self._progress_seconds = progress_seconds
        self._formats: dict[Path, ImageFormat] = {}  # by blob; blobs never change
        self._cache = ImageCache(Path(settings.folder) if settings.folder else folder)
        self._limits = FetchLimits(settings.max_bytes, settings.timeout_seconds)

    @property
    def folder(self) -> Path:
        """The folder of the files that volumes have as backing files."""
        return self._cache.folder / "blobs"

    def open(self) -> None:
        """Raises LockHeldError when another runtime has the folder."""
        with http_fetch.translate_os_errors():
            self._cache.lock.acquire(self._cache.folder)

    def close(self) -> None:
        """Another runtime may use the cache from then on."""
        self._cache.lock.release()

    def refuse(self, text: str) -> None:
        """Raises InvalidArgument for what this host never allows, NotFound for a missing file of this host. Asks no server."""
        match reference.parse(text):
            case FileReference(path=path):
                self._refuse_path(path)
                self._real(path)
            case UrlReference() | OciReference():
                self._refuse_source(text)

    def ensure(self, text: str, architecture: str, tell: Tell) -> LocalImage:
        """Blocks until the image is in the cache. `architecture` chooses among those of an OCI index."""
        with http_fetch.translate_os_errors():
            return self._ensure(text, architecture, tell)

    def _ensure(self, text: str, architecture: str, tell: Tell) -> LocalImage:
        """By the kind of reference. What the operator does not allow is refused before anything is fetched."""
        match named := reference.parse(text):
            case FileReference():
                digest, path = self._copy_file(named)
                return self._image(f"{named.path}#{digest}", path)
            case UrlReference():
                self._refuse_source(text)
                digest, path = self._download(named, tell)
                return self._image(f"{http_fetch.path_of(named.url)}#{digest}", path)
            case OciReference():
                self._refuse_source(text)
                return self._pull(named, architecture, tell)

    def collect(self, used: Set[str]) -> int:
        """Removes unused images that need not be kept. `used` holds names of files in `folder`."""
        recent = time.time() - FRESH_SECONDS
        fresh = {path.name for path in self.folder.iterdir() if path.stat().st_mtime > recent}
        return self._cache.collect(
            used | fresh,
            now=time.time(),
            unused_seconds=self._settings.unused_seconds,
            most_bytes=self._settings.cache_bytes,
        )

    def _refuse_source(self, text: str) -> None:
        """By the prefixes that the operator allows; none means that all are allowed."""
        sources = self._settings.sources
        if sources and not text.removeprefix("oci://").startswith(sources):
            raise InvalidArgument(f"this host allows images from {', '.join(sources)}, not {text[:100]!r}")

    def _refuse_path(self, path: str) -> None:
        """Checks the name alone. Links are resolved when the image is needed."""
        allowed = [folder for root in map(Path, self._settings.paths) for folder in (root, root.resolve())]
        if not any(Path(path).is_relative_to(folder) for folder in allowed):
            raise InvalidArgument(
                f"this host does not allow image {path[:100]!r}; its operator can allow it by images.paths in the runtime's settings"
                f" (now: {', '.join(self._settings.paths) or 'none'})"
            )

    def _copy_file(self, named: FileReference) -> tuple[Digest, Path]:
        """Copies the file into the cache: volumes have it as their backing file, and the original may change."""
        real = self._real(named.path)
        digest = digest_of(real, named.digest.algorithm if named.digest else "sha256")
        if named.digest not in (None, digest):
            raise FailedPrecondition(f"the image has digest {digest}, not {named.digest}")
        return digest, self._ensure_blob(
            digest, lambda partial: http_fetch.copy_file(real, partial, self._limits)
        )

    def _real(self, path: str) -> Path:
        """The file that the path leads to."""
        try:
            real = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            real = None
        roots = [Path(root).resolve() for root in self._settings.paths]
        if real is None or not real.is_file() or not any(real.is_relative_to(root) for root in roots):
            # Does not say which of the two: specs must not find out what files a host has.
            raise NotFound(f"image {path} does not exist, or is not in a folder that this host allows")
        return real

    def _download(self, named: UrlReference, tell: Tell) -> tuple[Digest, Path]:
        """A digest in the reference makes the server's word needless: then the cache alone decides. Else the server is asked
        whether its content is still the same."""
        host = named.url.removeprefix("http://").partition("/")[0]
        if named.url.startswith("http://") and named.digest is None and host not in self._settings.plain_http:
            raise InvalidArgument("an image over http needs a digest (#sha256=<64 hex digits>); or use https")
        if named.digest is not None and (path := self._cache.blob(named.digest)) is not None:
            return named.digest, path
        with self._cache.partial_file(f"{named.url}#{named.digest}") as partial:
            if named.digest is not None and (path := self._cache.blob(named.digest)) is not None:
                return named.digest, path
            known = None if named.digest else self._cache.lookup(named.url)
            try:
                fetched = self._fetch(named.url, partial, {}, known.validator if known else "", tell)
            except Unavailable as error:
                if known is None:
                    raise
                tell("ImageNotRefreshed", f"{error}; using the image fetched before")
                return known.digest, self._cache.path(known.digest)
            if known is not None and fetched.is_same:
                return known.digest, self._cache.blob(known.digest) or self._cache.path(known.digest)
            digest, path = self._add_blob(partial, named.digest)
            if named.digest is None:
                self._cache.remember(named.url, CachedName(digest, fetched.validator))
            return digest, path

    def _pull(self, named: OciReference, architecture: str, tell: Tell) -> LocalImage:
        """The manifest is fetched each time for a tag, so a moved tag is noticed; layers are fetched by digest, once."""
        registry = Registry(
            named,
            plain_http=named.registry in self._settings.plain_http,
            credentials_file=self._settings.credentials,
            timeout=self._settings.timeout_seconds,
        )
        manifest, found = registry.resolve(architecture)
        config = registry.blob(found.config, oci_manifest.LARGEST_MANIFEST)
        rootfs = self._layer(registry, found.rootfs, tell)
        image = self._image(f"{named.registry}/{named.repository}@{manifest}", rootfs)
        command_line = oci_manifest.parse_command_line(config)
        if found.kernel is None:
            return image
        kernel = self._layer(registry, found.kernel, tell)
        initramfs = self._layer(registry, found.initramfs, tell) if found.initramfs else ""
        boot = Boot(kernel=str(kernel), initramfs=str(initramfs), cmdline=command_line)
        return msgspec.structs.replace(image, boot=boot)

    def _layer(self, registry: Registry, layer: Digest, tell: Tell) -> Path:
        """One file of an OCI image, fetched by its digest and kept as a blob like any other."""
        url = registry.blob_url(layer)  # its content is verified by its digest when it enters the cache
        return self._ensure_blob(
            layer, lambda partial: self._fetch(url, partial, registry.headers(), "", tell)
        )

    def _ensure_blob(self, digest: Digest, fill: Callable[[Path], object]) -> Path:
        """The blob of that digest. One thread alone fills its partial file when it is not cached."""
        if (path := self._cache.blob(digest)) is not None:
            return path
        with self._cache.partial_file(str(digest)) as partial:
            if (path := self._cache.blob(digest)) is None:
                fill(partial)
                path = self._add_blob(partial, digest)[1]
        return path

    def _fetch(self, url: str, partial: Path, headers: dict[str, str], known: str, tell: Tell) -> Fetched:
        """Leaves the partial file after an interruption, so that the next attempt continues it."""
        tell("PullingImage", f"fetching {http_fetch.path_of(url)}")
        try:
            fetched = http_fetch.fetch(
                url,
                partial,
                headers=headers,
                limits=self._limits,
                known_validator=known,
                progress=_progress(url, tell, self._progress_seconds),
            )
        except (InvalidArgument, ResourceExhausted):
            # Not worth continuing: too large, or no space for it. Others get the space.
            self._cache.discard(partial)
            raise
        tell(
            "ImagePullSucceeded",
            f"{http_fetch.path_of(url)}: {'unchanged' if fetched.is_same else 'fetched'}",
        )
        return fetched

    def _image(self, name: str, path: Path) -> LocalImage:
        """Inspects a file once in the life of the process: blobs never change."""
        format = self._formats.get(path) or qcow2.inspect(path)
        self._formats[path] = format
        return LocalImage(reference=name, path=path, format=format.name, virtual_bytes=format.virtual_bytes)

    def _add_blob(self, partial: Path, expected: Digest | None) -> tuple[Digest, Path]:
        """A file without an expected digest is inspected before it enters the cache; one with a digest was chosen by a person."""
        try:
            if expected is None:
                qcow2.inspect(partial)
        except InvalidArgument:
            self._cache.discard(partial)
            raise
        digest = self._cache.add_blob(partial, expected)
        return digest, self._cache.path(digest)


def _progress(url: str, tell: Tell, seconds: float) -> http_fetch.Progress:
    """Reports progress every so many seconds."""
    last = time.monotonic()

    def progress(fetched_bytes: int, total: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last < seconds:
            return
        last = now
        share = (
            f"{fetched_bytes * 100 // total}% of {total // MIB} MiB"
            if total
            else f"{fetched_bytes // MIB} MiB"
        )
        tell("PullingImage", f"{http_fetch.path_of(url)}: {share}")

    return progress


def refuse_image(images: Images, text: str) -> None:
    """Raises ImageNotResolvable for what is known at once, without asking a server."""
    with naming_image(text):
        images.refuse(text)


def ensure_image(images: Images, text: str, architecture: str, tell: Tell) -> LocalImage:
    """ImageNotResolvable, with the cure, when the image cannot be had."""
    with naming_image(text):
        return images.ensure(text, architecture, tell)


@contextmanager
def naming_image(text: str) -> Iterator[None]:
    """Turns errors into ImageNotResolvable. A full cache stays ResourceExhausted: the name is not at fault."""
    try:
        yield
    except (InvalidArgument, NotFound, FailedPrecondition, Unavailable) as error:
        # The query of a URL may hold a key, so the message leaves it out.
        raise ImageNotResolvable(
            f"image {http_fetch.path_of(text)[:LONGEST_NAME]}: {error}; {CURE}"
        ) from error
