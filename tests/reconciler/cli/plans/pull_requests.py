"""Five typical pull requests on a fleet of four hosts: the files that each changes. docs/pull-requests.md shows their comments."""

from __future__ import annotations

from pathlib import Path

from schemas.live_layout import DRAIN
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import SETTINGS, Clock, Host, People, reconciler, settle
from tests.servers.repository import git

API = "apiVersion: compute.ironcore.dev/v1alpha1\n"
SIZES = {"small": (2, "4Gi"), "large": (4, "16Gi"), "huge": (16, "64Gi")}
HOSTS = {"rack-a1": "a", "rack-a2": "a", "rack-b1": "b", "rack-b2": "b"}
ZONE = "topology.ironcore.dev/zone"
FETCH = ("+refs/heads/*:refs/remotes/origin/*", "+refs/poollets/*:refs/poollets/*")
Files = dict[str, str | None]


def size(name: str) -> str:
    cpu, memory = SIZES[name]
    return f"{API}kind: MachineClass\nmetadata:\n  name: {name}\ncapabilities:\n  cpu: {cpu}\n  memory: {memory}\n"


def machine(
    name: str, size: str = "small", *, disks: dict[str, str] | None = None, pin: str = "", zone: str = ""
) -> str:
    text = f"{API}kind: Machine\nmetadata:\n  name: {name}\n  labels:\n    app: {name.partition('-')[0]}\nspec:\n  machineClassRef:\n    name: {size}\n"
    if pin:
        text += f"  machinePoolRef:\n    name: {pin}\n"
    if zone:
        text += f"  machinePoolSelector:\n    {ZONE}: {zone}\n"
    if disks:
        text += "  volumes:\n" + "".join(
            f"    - name: {disk}\n      localDisk:\n        sizeLimit: {room}\n"
            for disk, room in disks.items()
        )
    return text


def pool(name: str, *, is_drained: bool = False) -> str:
    text = f"{API}kind: MachinePool\nmetadata:\n  name: {name}\n"
    if is_drained:
        text += f"spec:\n  unschedulable: true\n  taints:\n    - key: {DRAIN}\n      effect: NoExecute\n"
    return text


DB = {"root": "20Gi", "data": "100Gi"}
BEGIN: Files = {
    "gitvirt.yaml": SETTINGS,
    "classes/machines.yaml": "---\n".join(map(size, SIZES)),
    **{f"pools/{name}.yaml": pool(name) for name in HOSTS},
    **{
        f"machines/web-{number}.yaml": machine(f"web-{number}", zone="ab"[number % 2])
        for number in range(1, 5)
    },
    **{f"machines/job-{number}.yaml": machine(f"job-{number}", "large") for number in range(1, 5)},
    "machines/db-1.yaml": machine("db-1", "large", disks=DB, zone="a"),
    "machines/db-2.yaml": machine("db-2", "large", disks=DB, zone="b"),
}
PULL_REQUESTS: dict[str, tuple[str, Files]] = {
    "add-a-machine": ("Add web-5", {"machines/web-5.yaml": machine("web-5")}),
    "delete-two-with-data": (
        "Remove both databases",
        {"machines/db-1.yaml": None, "machines/db-2.yaml": None},
    ),
    "resize-that-does-not-fit": (
        "Give db-1 more memory",
        {"machines/db-1.yaml": machine("db-1", "huge", disks=DB, zone="a")},
    ),
    "drain": ("Drain rack-a1 for a new kernel", {"pools/rack-a1.yaml": pool("rack-a1", is_drained=True)}),
    "sixteen-equal-machines": (
        "Scale the workers to 16",
        {f"machines/worker-{number}.yaml": machine(f"worker-{number}", "large") for number in range(1, 17)},
    ),
}  # fmt: skip


class DemoFleet:
    """Four hosts with ten machines, converged, and a checkout in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        self.clock = Clock()
        people = People(self.world.client(), self.clock)
        hosts = [
            Host(
                self.world.client(), name, self.clock, room=20,
                classes=tuple(SIZES), storage="1Ti", labels={ZONE: zone},
            )
            for name, zone in HOSTS.items()
        ]  # fmt: skip
        people.push(BEGIN)
        settle([reconciler(self.world.client())], hosts, self.clock)
        self.checkout = folder / "checkout"
        git(folder, "clone", "--quiet", str(self.world.repo), str(self.checkout))
        git(self.checkout, "fetch", "--quiet", "--prune", str(self.world.repo), *FETCH)

    def edit(self, files: Files) -> None:
        """Back to the begin, and then these files."""
        git(self.checkout, "reset", "--quiet", "--hard")
        git(self.checkout, "clean", "--quiet", "--force", "-d")
        for path, text in files.items():
            target = self.checkout / path
            if text is None:
                target.unlink()
            else:
                target.parent.mkdir(exist_ok=True)
                target.write_text(text)
