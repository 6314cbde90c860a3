"""Wheel and sdist: they hold what an installed gitvirt needs and nothing else, and each works in an empty environment that has
only what requirements.run.lock names. Nothing is fetched: those libraries are lent by the environment of the tests.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "reconciler", "poollet", "iri")
PLACES = {"docs": "reconciler/template/docs", "examples/repo": "reconciler/template/site"}
PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
RUN = ["reconciler/cli/__init__.py", "schemas/machine.json", "reconciler/template/site/gitvirt.yaml",
       "reconciler/template/docs/systemd/gitvirt-runtime.service", "reconciler/template/github.yaml"]  # fmt: skip


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By kind."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


def files(*folders: str) -> Iterator[str]:
    for folder in folders:
        for place in (ROOT / folder).rglob("*"):
            if place.is_file() and "__pycache__" not in place.parts:
                yield str(place.relative_to(ROOT))


def test_the_wheel_holds_the_packages_with_their_data_and_nothing_else(
    distributions: dict[str, Path],
) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as archive:
        contained = {
            name for name in archive.namelist() if not PurePath(name).parts[0].endswith(".dist-info")
        }
    lent = {name.replace(folder, place, 1) for folder, place in PLACES.items() for name in files(folder)}
    assert contained == set(files(*PACKAGES)) | lent
    assert contained.issuperset(RUN)


def test_the_sdist_holds_what_builds_the_wheel_and_nothing_else(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        contained = {name.partition("/")[2] for name in archive.getnames()}
    single = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert contained == set(files(*PACKAGES, "docs", "examples")) | single


def lend_libraries(target: Path) -> None:
    """What the lock of users names, and nothing that only tests have."""
    site = Path(sysconfig.get_path("platlib"))
    names = PINNED.findall((ROOT / "requirements.run.lock").read_text())
    assert "pygit2" in names
    assert "pytest" not in names
    for name in names:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # pinned for another system or another Python
            continue
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
            place = target / top
            if top != "__pycache__" and not place.exists():
                place.symlink_to(site / top)


@pytest.mark.early
@pytest.mark.timeout(600)  # a dozen processes that each load all of it, on a machine that may be busy
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_works_in_an_empty_environment(distributions: dict[str, Path], kind: str, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = environment / "lib" / version / "site-packages"
    lend_libraries(site)
    clean = {
        "PATH": f"{environment}/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }
    install = [
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        str(distributions[kind]),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), *install],
        cwd=tmp_path, env=clean, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    where = subprocess.run(
        [python, "-c", "import reconciler; print(reconciler.__path__[0])"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.strip() == str(site / "reconciler")
    proven = subprocess.run(
        [ROOT / "tools" / "prove-install", "--no-demo"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert proven.returncode == 0, proven.stdout + proven.stderr
    assert proven.stdout.count("ok: ") == 3
