"""Assembles the micro guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("micro.S")
READY = b"MICRO-READY\r\n"


def micro_kernel(folder: Path) -> Path:
    """Its kernel image, made in that folder."""
    linked, kernel = folder / "micro.o", folder / "micro.kernel"
    subprocess.run(["as", "--32", "-o", linked, SOURCE], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", linked, kernel], check=True)
    return kernel
