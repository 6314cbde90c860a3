"""The guide of the controller API: its Python runs, and its calls of grpcurl are calls that the server has, against a real fleet of processes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from tests.docs.pages import ROOT, Page, rows
from tests.e2e.linked_fleet import LinkedFleet, linked_fleet
from tests.reconciler.link.client import METHODS, Watch, api_client, list_client
from tests.servers.link_certificates import make_certificate

PAGE = Page(ROOT / "docs" / "controller-api.md")
CI = make_certificate("ci")
RIGHTS = ("read", "schedule", "update", "stop", "destroy")


@pytest.fixture(scope="module")
def fleet() -> Iterator[LinkedFleet]:
    with (
        tempfile.TemporaryDirectory(prefix="gv-") as folder,
        linked_fleet(Path(folder), hosts=("rack-1",)) as made,
    ):
        clients = "clients:\n" + list_client("ci", CI, RIGHTS, ("staging",))
        made.commit({"gitvirt.yaml": made.settings() + clients})
        CI.write(made.folder, "ci")
        made.run_reconciler("one")
        made.run_host("rack-1")
        made.until(lambda: made.count_connected("one") == 1)
        yield made


def address(fleet: LinkedFleet) -> str:
    return f"127.0.0.1:{fleet.servers['one']}"


@pytest.mark.early
def test_the_python_of_the_guide_runs(fleet: LinkedFleet) -> None:
    (make,) = [text for language, text in PAGE.blocks if language == "sh"]
    (program,) = [text for language, text in PAGE.blocks if language == "python"]
    made = make.replace("python ", f"{sys.executable} ").replace("-I iri/proto", f"-I {ROOT}/iri/proto")
    subprocess.run(("sh", "-c", made), cwd=fleet.folder, check=True)
    script = fleet.folder / "guide.py"
    script.write_text(program.replace("link.example.org:7443", address(fleet)))
    done = subprocess.run(
        (sys.executable, str(script)),
        cwd=fleet.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr + fleet.logs()
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rack-1 NODE_STATE_")
    states = [line.split()[1] for line in lines if line.startswith("job-1 ")]
    assert states[0] == "INSTANCE_STATE_ACCEPTED"
    assert states[-1] == "INSTANCE_STATE_RUNNING"
    assert any(line.startswith("NOT_FOUND Machine/staging/job-1 has the uid ") for line in lines)
    assert "DELETE Machine/staging/job-1 on rack-1" in lines


def curls() -> list[tuple[str, dict[str, Any]]]:
    """Method and request of each call of grpcurl on the page."""
    (block,) = [text for _, text in PAGE.blocks if text.startswith("grpcurl")]
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        assert words[1:9] == shlex.split("-cacert link.crt -cert ci.crt -key ci.key -servername gitvirt-link")
        data = words[words.index("-d") + 1] if "-d" in words else "{}"
        assert words[-2] == "link.example.org:7443"
        found.append((words[-1], json.loads(data)))
    return found


@pytest.mark.parametrize(("method", "data"), curls(), ids=lambda each: str(each)[-20:])
def test_each_call_of_grpcurl_is_one_that_the_server_has(
    fleet: LinkedFleet, method: str, data: dict[str, Any]
) -> None:
    service, _, name = method.rpartition("/")
    about: Any = METHODS[name]
    assert about.containing_service.full_name == service
    request = json_format.ParseDict(data, GetMessageClass(about.input_type)())
    fleet.commit({"machines/staging/job-1.yaml": None})
    with api_client(address(fleet), fleet.link, CI) as client:
        if about.server_streaming:
            assert Watch(client.call(name, request)).until(lambda each: each.cause)
        elif name == "Stop":
            with pytest.raises(grpc.RpcError) as gone:
                client.call(name, request)
            found: Any = gone.value
            assert found.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION)
        else:
            assert client.call(name, request).nodes


def test_the_page_has_each_call_with_its_right() -> None:
    listed = rows(PAGE.text)
    table = {
        name
        for calls, _, _ in (each for each in listed if len(each) == 3)
        for name in re.findall(r"`([A-Z]\w+)`", calls)
        if name in METHODS
    }
    assert table == METHODS.keys()
