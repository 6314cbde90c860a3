"""The CI files that `init` writes: valid by the forges' published schemas, and each step does what it says, run unchanged.

The forges themselves were not tried. What only prepares a forge's own machine (checking out, apt-get) is not run here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.reconciler.cli.verbs.conftest import CLASS, POOL, POOL_STATUS, machine
from tests.reconciler.gitstore.git import commit, git
from tests.servers.forge import TOKEN, Forge, forge

pytestmark = pytest.mark.timeout(
    600
)  # each step is a process that loads all of it, on a machine that may be busy
ROOT = Path(__file__).parents[3]
FILES = {"github": ".github/workflows/gitvirt.yaml", "gitlab": ".gitlab-ci.yml"}
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    return folder


@pytest.fixture
def server() -> Iterator[Forge]:
    with forge() as found:
        yield found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As a forge's runner leaves it: a branch that adds a machine, its base, and what is live."""
    bare, checkout = tmp_path / "fleet.git", tmp_path / "fleet"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(tmp_path, "init", "-q", "-b", "main", str(checkout))
    run_in(checkout, {}, "gitvirt init . > /dev/null && rm -r classes .schemas")
    commit(checkout, {"classes/small.yaml": CLASS, "pools/rack-a.yaml": POOL}, "begin")
    git(checkout, "checkout", "-q", "-b", "live")
    commit(checkout, {"pools/rack-a.yaml": POOL + POOL_STATUS}, "live")
    git(checkout, "checkout", "-q", "main")
    git(checkout, "remote", "add", "origin", str(bare))
    git(checkout, "push", "-q", "origin", "main", "live")
    git(checkout, "branch", "-q", "-D", "live")
    git(checkout, "checkout", "-q", "-b", "change")
    commit(checkout, {"machines/web-1.yaml": machine("web-1")}, "add web-1")
    return checkout


def run_in(folder: Path, environment: dict[str, str], script: str) -> str:
    """As a runner does: bash, that stops at the first error."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path} | environment,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def read_ci_file(forge_name: str) -> Any:
    return YAML(typ="safe").load((ROOT / "examples/repo" / FILES[forge_name]).read_text())


@pytest.mark.parametrize(
    ("forge_name", "path"),
    [
        ("github", "examples/repo/.github/workflows/gitvirt.yaml"),
        ("gitlab", "examples/repo/.gitlab-ci.yml"),
        ("github", ".github/workflows/ci.yml"),  # of this project itself
    ],
)
def test_is_valid_by_the_published_schema(forge_name: str, path: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[forge_name]]
    done = subprocess.run([*command, str(ROOT / path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_this_project_runs_what_anyone_can_run() -> None:
    read_ci_file = YAML(typ="safe").load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step["run"] for step in read_ci_file["jobs"]["test"]["steps"] if "run" in step]
    assert steps == ["sudo .ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert read_ci_file["permissions"] == {"contents": "read"}


def test_nothing_has_more_rights_than_it_needs() -> None:
    workflow = read_ci_file("github")
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in workflow["jobs"]["validate"]
    assert workflow["jobs"]["plan"]["permissions"] == {"contents": "read", "pull-requests": "write"}


def installs(wheels: Path, tmp_path: Path) -> dict[str, str]:
    """Where pip finds the version that the file names: the wheel of this tree, its dependencies being there."""
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_DEPS": "1",
        "PIP_TARGET": str(tmp_path / "installed"),
    }


def read_pin() -> dict[str, str]:
    """What GITVIRT is without a variable of that name, by the file for GitHub; GitLab's says the same."""
    found = re.fullmatch(
        r"\$\{\{ vars\.GITVIRT \|\| '(gitvirt==\S+)' \}\}", read_ci_file("github")["env"]["GITVIRT"]
    )
    assert found is not None
    assert read_ci_file("gitlab")["variables"]["GITVIRT"] == found[1]
    return {"GITVIRT": found[1]}


def test_every_step_for_github(checkout: Path, server: Forge, wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    environment = {
        "BASE": git(checkout, "rev-parse", "main"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_ACTIONS": "true", "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": "me/fleet",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), **installs(wheels, tmp_path), **read_pin(),
    }  # fmt: skip
    jobs = read_ci_file("github")["jobs"]
    steps = [step["run"] for job in ("validate", "plan") for step in jobs[job]["steps"] if "run" in step]
    assert len(steps) == 6
    for step in steps:
        run_in(checkout, environment, step)
    assert (tmp_path / "installed" / "gitvirt-0.1.0.dist-info").is_dir()
    assert "Machine/default/web-1" in (tmp_path / "summary.md").read_text()
    assert "Machine/default/web-1" in str(server.comments[0]["body"])


def test_every_step_for_gitlab(checkout: Path, server: Forge, wheels: Path, tmp_path: Path) -> None:
    environment = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(checkout, "rev-parse", "main"), "CI_PIPELINE_SOURCE": "merge_request_event",
        "GITLAB_CI": "true", "GITVIRT_COMMENT_TOKEN": TOKEN, "CI_API_V4_URL": server.url, "CI_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "7", **installs(wheels, tmp_path), "GITVIRT": str(next(wheels.glob("*.whl"))),
    }  # fmt: skip
    jobs = read_ci_file("gitlab")
    before = [line for line in jobs["default"]["before_script"] if not line.startswith("apt-get")]
    for job in ("validate", "plan"):  # GitLab runs the lines of a job in one shell
        run_in(checkout, environment, "\n".join([*before, *jobs[job]["script"]]))
        before = []
    assert "<testsuite" in (checkout / "gitvirt.xml").read_text()
    assert "Machine/default/web-1" in str(server.comments[0]["body"])
    assert (tmp_path / "installed" / "gitvirt-0.1.0.dist-info").is_dir()


def test_every_step_for_any_other(checkout: Path) -> None:
    page = (ROOT / "docs/plan.md").read_text()
    script = re.search(r"```sh\n(git fetch.*?)```", page, re.DOTALL)
    assert script is not None
    assert "Machine/default/web-1" in run_in(checkout, {}, script[1])
