"""A fleet whose target branch is as a reconciler leaves it: one pool, machines in several states, a report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reconciler.cli import main
from tests.reconciler.gitstore.git import commit, git

# As a process of its own that hears Ctrl-C, also where the tests run in the background and so with it ignored.
GITVIRT = (
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from reconciler.cli import main; sys.exit(main())",
)
SETTINGS = b"fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\nsecrets: {plain: allow}\n"
CLASS = b"""apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: small}
capabilities: {cpu: 1, memory: 2Gi}
"""
POOL = b"""apiVersion: compute.ironcore.dev/v1alpha1
kind: MachinePool
metadata: {name: rack-a}
"""
POOL_STATUS = b"""status:
  state: Ready
  availableMachineClasses: [{name: small}]
  capacity: {cpu: 8, memory: 32Gi}
  allocatable: {cpu: 8, memory: 32Gi}
"""
SECRET = b"""apiVersion: v1
kind: Secret
metadata: {name: seed}
stringData: {password: hunter2}
"""


CREATED = "2026-01-01T00:00:00Z"


def machine(name: str, namespace: str = "default", labels: str = "{}", created: str = "") -> bytes:
    """`created` is what the reconciler writes on the target branch."""
    since = f'\n  creationTimestamp: "{created}"' if created else ""
    return f"""apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: {name}
  namespace: {namespace}
  labels: {labels}{since}
spec:
  machineClassRef: {{name: small}}
  volumes:
    - name: root
      localDisk: {{sizeLimit: 5Gi}}
""".encode()


RUNNING = b"""status:
  machineID: simulated://1
  state: Running
  conditions:
    - {type: Scheduled, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  networkInterfaces: [{name: lan, state: Attached, ips: [10.0.0.7]}]
  assignment: {pool: rack-a, id: 11111111-1111-4111-8111-111111111111}
"""
WAITING = b"""status:
  state: Pending
  conditions:
    - type: Scheduled
      status: "False"
      reason: Unschedulable
      message: "rack-a: cpu: need 1, have 0"
"""
EVENTS = b"""{"events": [{"kind": "Machine", "namespace": "default", "name": "web-1", "type": "Warning", "reason": "Restarted",
"message": "the guest stopped by itself", "count": 3, "last": "2026-01-01T00:00:00Z"}]}"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that follows a bare repo with both branches and a report; the working folder."""
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GITVIRT_REPO", raising=False)
    bare, checkout = tmp_path / "fleet.git", tmp_path / "fleet"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(tmp_path, "init", "-q", "-b", "main", str(checkout))
    git(checkout, "config", "user.name", "Ann")
    git(checkout, "config", "user.email", "ann@example.org")
    commit(
        checkout,
        {"gitvirt.yaml": SETTINGS, "classes/small.yaml": CLASS, "pools/rack-a.yaml": POOL, "README.md": b"x"},
        "begin",
    )
    git(checkout, "branch", "live")
    commit(checkout, {"machines/web-1.yaml": machine("web-1", labels="{app: web, tier: front}")}, "add web-1")
    commit(
        checkout,
        {
            "machines/web-2.yaml": machine("web-2"),
            "machines/lab.yaml": machine("lab", "lab"),
            "secret.yaml": SECRET,
        },
        "add web-2 and the lab",
    )
    git(checkout, "checkout", "-q", "live")
    git(checkout, "merge", "-q", "--no-ff", "--no-commit", "main")
    commit(
        checkout,
        {
            "machines/web-1.yaml": machine("web-1", labels="{app: web, tier: front}")
            + b"status: {state: Pending}\n",
            "pools/rack-a.yaml": POOL + POOL_STATUS,
        },
        "1 scheduled, 2 unschedulable\n\n- schedule default/web-1 onto rack-a: most free",
    )
    commit(
        checkout,
        {
            "machines/web-1.yaml": machine("web-1", labels="{app: web, tier: front}", created=CREATED)
            + RUNNING,
            "machines/web-2.yaml": machine("web-2") + WAITING,
        },
        "default/web-1 is running",
    )
    git(checkout, "checkout", "-q", "--orphan", "report")
    git(checkout, "rm", "-q", "-rf", ".")
    commit(checkout, {"events.json": EVENTS}, "report")
    git(checkout, "checkout", "-q", "main")
    git(checkout, "remote", "add", "origin", str(bare))
    git(checkout, "push", "-q", "origin", "main", "live", "report:refs/poollets/rack-a")
    monkeypatch.chdir(checkout)
    return checkout


def gitvirt(*words: str) -> int:
    return main(list(words))
