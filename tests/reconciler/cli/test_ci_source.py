"""The CI files that `init` writes pass wherever gitvirt was installed from: an index, a Git server, a web server, a file, a checkout."""

from __future__ import annotations

import functools
import http.server
import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.cli.ci_source import CannotBuildWheelError, CiSource, find_ci_source
from reconciler.cli.init import FILES
from tests.reconciler.cli.test_ci_files import wheels  # noqa: F401 - a fixture
from tests.reconciler.cli.verbs.conftest import CLASS
from tests.reconciler.gitstore.git import commit, git
from tests.servers.fixtures import short_folder, web  # noqa: F401 - fixtures
from tests.servers.web import WebServer

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parents[3]
WHEEL = ".ci/gitvirt-0.1.0-py3-none-any.whl"


def pip(*words: str, **environment: str) -> None:
    command = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr


def install(folder: Path, requirement: str, *options: str) -> Path:
    """gitvirt alone, by pip, in a folder of its own: its dependencies are there."""
    pip("--no-deps", "--no-build-isolation", "--no-compile", "--target", str(folder), *options, requirement)
    return folder


def ci_source(installed: Path) -> CiSource:
    (found,) = importlib.metadata.distributions(name="gitvirt", path=[str(installed)])
    return find_ci_source(found)


@pytest.fixture
def wheel(wheels: Path) -> Path:  # noqa: F811 - a fixture
    (found,) = wheels.glob("*.whl")
    return found


@pytest.fixture
def downloads(wheels: Path) -> Iterator[str]:  # noqa: F811 - a fixture
    """A web server with the wheel."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(wheels))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def git_url(web: WebServer) -> str:  # noqa: F811 - a fixture
    """This project's commit on a Git server."""
    bare = web.repos / "gitvirt.git"
    if not bare.exists():
        git(web.repos, "clone", "-q", "--bare", str(ROOT), str(bare))
    return web.url("gitvirt.git", place="open")


def test_from_an_index_ci_asks_the_index(wheels: Path, tmp_path: Path) -> None:  # noqa: F811
    installed = install(tmp_path / "a", "gitvirt==0.1.0", "--no-index", "--find-links", str(wheels))
    assert ci_source(installed) == CiSource("gitvirt==0.1.0")


def test_from_a_git_url_ci_installs_the_same_commit(git_url: str, tmp_path: Path) -> None:
    installed = install(tmp_path / "a", f"git+{git_url}")
    head = git(ROOT, "rev-parse", "HEAD")
    assert ci_source(installed) == CiSource(f"git+{git_url}@{head}")
    install(tmp_path / "b", f"git+{git_url}@{head}")


def test_from_a_wheel_on_a_web_server_ci_downloads_the_same_bytes(
    downloads: str, wheel: Path, tmp_path: Path
) -> None:
    url = f"{downloads}/{wheel.name}"
    found = ci_source(install(tmp_path / "a", url))
    assert found.wheel is None
    assert found.requirement.startswith(f"{url}#sha256=")
    install(tmp_path / "b", found.requirement)


def test_from_a_file_ci_gets_the_wheel_as_it_was(wheel: Path, tmp_path: Path) -> None:
    found = ci_source(install(tmp_path / "a", str(wheel)))
    assert found.requirement == WHEEL
    assert found.wheel is not None
    with zipfile.ZipFile(BytesIO(found.wheel)) as packed, zipfile.ZipFile(wheel) as original:
        record = "gitvirt-0.1.0.dist-info/RECORD"
        assert {name: packed.read(name) for name in packed.namelist() if name != record} == {
            name: original.read(name) for name in original.namelist() if name != record
        }
    again = tmp_path / Path(WHEEL).name
    again.write_bytes(found.wheel)
    assert ci_source(install(tmp_path / "b", str(again))) == found


def test_from_a_checkout_ci_gets_a_wheel_of_it(tmp_path: Path) -> None:
    found = find_ci_source()  # the tests use the packages of this checkout in place
    assert found.requirement == WHEEL
    assert found.wheel is not None
    with zipfile.ZipFile(BytesIO(found.wheel)) as packed:
        assert packed.read("reconciler/cli/init.py") == (ROOT / "reconciler/cli/init.py").read_bytes()


def test_without_the_list_of_its_files_there_is_no_wheel(wheel: Path, tmp_path: Path) -> None:
    installed = install(tmp_path / "a", str(wheel))
    (installed / "gitvirt-0.1.0.dist-info/RECORD").unlink()
    with pytest.raises(CannotBuildWheelError, match="does not list its files"):
        ci_source(installed)


def test_a_password_in_the_url_never_reaches_the_repo(wheel: Path, tmp_path: Path) -> None:
    installed = install(tmp_path / "a", str(wheel))
    url = {
        "url": "https://me:secret@git.example.org/gitvirt",
        "vcs_info": {"vcs": "git", "commit_id": "a" * 40},
    }
    (installed / "gitvirt-0.1.0.dist-info/direct_url.json").write_text(json.dumps(url))
    found = ci_source(installed)
    assert found.requirement == WHEEL
    assert b"secret@" not in (found.wheel or b"")


@pytest.mark.parametrize("origin", ["file", "git", "index"])
def test_the_first_run_of_ci_passes_in_a_clean_environment(
    origin: str, git_url: str, wheel: Path, tmp_path: Path
) -> None:
    requirement = {"file": str(wheel), "git": f"git+{git_url}", "index": "gitvirt==0.1.0"}[origin]
    index = ("--no-index", "--find-links", str(wheel.parent)) if origin == "index" else ()
    installed = install(tmp_path / "installed", requirement, *index)
    repo = tmp_path / "fleet"
    environment = {"PYTHONPATH": str(installed), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    made = subprocess.run(
        (sys.executable, "-m", "reconciler", "init", str(repo)),
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    commit(repo, {"classes/other.yaml": CLASS.replace(b"small", b"other")}, "begin")
    runner = tmp_path / "runner"
    subprocess.run((sys.executable, "-m", "venv", str(runner)), check=True)
    for step in steps_of_validate(repo):
        run_step(step, repo, runner, {"PIP_FIND_LINKS": str(wheel.parent)} if origin == "index" else {})
    assert (runner / "bin/gitvirt").exists()


def steps_of_validate(repo: Path) -> list[str]:
    """Of the file for GitHub, with the variable that its head sets."""
    workflow: Any = YAML(typ="safe").load((repo / FILES["github.yaml"]).read_text())
    value = workflow["env"]["GITVIRT"].partition("|| '")[2].partition("'")[0]
    steps = [step["run"] for step in workflow["jobs"]["validate"]["steps"] if "run" in step]
    assert len(steps) == 2
    return [f'GITVIRT="{value}"\n{step}' for step in steps]


def run_step(step: str, repo: Path, runner: Path, environment: dict[str, str]) -> None:
    """As a runner does: bash, that stops at the first error, with a Python that has nothing installed."""
    keep = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HTTP", "SSL"))}
    done = subprocess.run(
        ("bash", "-e", "-o", "pipefail", "-c", step),
        cwd=repo, capture_output=True, text=True, check=False,
        env={**keep, **environment, "PIP_NO_COMPILE": "1", "PATH": f"{runner}/bin:/usr/bin:/bin", "HOME": os.environ["HOME"], "BASE": ""},
    )  # fmt: skip
    assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
