"""A certificate authority that lives as long as a test session, with a server's and a client's certificate."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True)
class Certificate:
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """`ca` is what its clients must trust."""

    folder: Path
    ca: Path

    def issue(self, name: str, alternatives: str = "") -> Certificate:
        key, request, made = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        _openssl("req", *NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternatives}\n" if alternatives else "")
        signing = ("-CA", self.ca, "-CAkey", self.folder / "ca.key", "-CAcreateserial", "-days", "2")
        _openssl("x509", "-req", "-in", request, "-out", made, *signing, "-extfile", extensions)
        return Certificate(made, key)


def authority(folder: Path, name: str) -> Authority:
    folder.mkdir(parents=True)
    ca = folder / "ca.crt"
    key = folder / "ca.key"
    _openssl("req", "-x509", *NEW_KEY, "-keyout", key, "-out", ca, "-days", "2", "-subj", f"/CN={name}")
    return Authority(folder, ca)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(("openssl", *map(str, arguments)), check=True, capture_output=True)
