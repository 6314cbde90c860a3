"""Where the CI of a new repo gets gitvirt from: the same place as the gitvirt that writes its CI files.

    installed from                    CI installs                                   because
    a package index                   gitvirt==VERSION                              the runner has the same index
    a Git URL                         git+URL@COMMIT                                a branch moves; CI must not change with it
    a wheel on a web server           its URL, with its hash
    a wheel file, a checkout          .ci/gitvirt-VERSION-py3-none-any.whl          no runner sees this machine's disk
    a Git URL of this machine         the same

pip writes down what it installed from (direct_url.json, PEP 610). A wheel that is copied into the repo is built again from the installed
files, because the file that pip was given may be gone.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

FOLDER = ".ci"
REMOTE = ("https", "http", "ssh", "git")
# Written by the installer about this installation; no part of a wheel.
_OF_THE_INSTALLER = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
_OLDEST = (1980, 1, 1, 0, 0, 0)  # of a zip: the same files always give the same bytes


@dataclass(frozen=True, slots=True)
class CiSource:
    """`requirement` is for pip, in the root of the repo. `wheel` is the content of that file if it is one in the repo."""

    requirement: str
    wheel: bytes | None = None


class CannotBuildWheelError(Exception):
    """The message completes "cannot give CI this gitvirt: "."""


def find_ci_source(distribution: importlib.metadata.Distribution | None = None) -> CiSource:
    found = distribution or importlib.metadata.distribution("gitvirt")
    written = found.read_text("direct_url.json")
    if written is None:
        return CiSource(f"gitvirt=={found.version}")
    origin: Mapping[str, Any] = json.loads(written)
    url = urlsplit(origin["url"])
    if url.scheme in REMOTE and not url.password:
        if "vcs_info" in origin:
            vcs = origin["vcs_info"]
            return CiSource(f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}")
        if "archive_info" in origin:
            return CiSource(origin["url"] + _hash_fragment(origin["archive_info"]))
    if origin.get("dir_info", {}).get("editable"):
        data = _build_wheel(Path(unquote(url.path)))
    else:
        data = _pack_installed(found)
    return CiSource(f"{FOLDER}/gitvirt-{found.version}-py3-none-any.whl", data)


def _hash_fragment(archive: Mapping[str, Any]) -> str:
    sha256 = archive.get("hashes", {}).get("sha256")
    return f"#sha256={sha256}" if sha256 else ""


def _build_wheel(checkout: Path) -> bytes:
    """The wheel of a checkout, in which the packages are used in place."""
    with tempfile.TemporaryDirectory(prefix="gitvirt-wheel.") as folder:
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise CannotBuildWheelError(
                f"hatchling builds no wheel of {checkout}: {' '.join(last) or 'no output'}"
            )
        return wheels[0].read_bytes()


def _pack_installed(distribution: importlib.metadata.Distribution) -> bytes:
    """The wheel that was installed, from the files that it brought."""
    record: list[str] = []
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        info = ""
        for path, data in _installed_files(distribution):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            archive.writestr(zipfile.ZipInfo(str(path), _OLDEST), data, zipfile.ZIP_DEFLATED)
            if path.parts[0].endswith(".dist-info"):
                info = path.parts[0]
        if not info:
            raise CannotBuildWheelError("the installed gitvirt does not list its files")
        record.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", _OLDEST), "\n".join(record) + "\n")
    return output.getvalue()


def _installed_files(distribution: importlib.metadata.Distribution) -> Iterator[tuple[PurePosixPath, bytes]]:
    for file in sorted(distribution.files or (), key=str):
        path = PurePosixPath(file.as_posix())
        is_script = path.parts[0] == ".."  # pip writes it again from entry_points.txt
        is_compiled = path.suffix == ".pyc"
        if not is_script and not is_compiled and path.name not in _OF_THE_INSTALLER:
            yield path, Path(str(file.locate())).read_bytes()
