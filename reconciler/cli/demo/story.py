"""What happens in the demo, act by act. Each act is a commit or an accident, and what the fleet makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from reconciler.cli.demo.cast import HOSTS, Cast
from reconciler.cli.demo.screen import Screen
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.location import Fleet, located, opened
from reconciler.cli.objects import columns
from reconciler.cli.terminal import Style, Terminal
from reconciler.cli.watching import moves
from reconciler.inventory import Inventory, inventory
from schemas.kinds import Kind

PATIENCE_SECONDS = 90.0
WEB_3 = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-3
  labels:
    app: web
spec:
  machineClassRef:
    name: small
  volumes:
    - name: root
      localDisk:
        sizeLimit: 10Gi
        image: registry.example.org/images/debian:12
"""
NEXT = """  gitvirt init my-fleet             a repo of your own; docs/tutorial.md goes on from there
  gitvirt demo --keep               leaves this fleet running, to play with
"""


def told(terminal: Terminal, cast: Cast, *, keep: bool) -> None:
    start = time.monotonic()
    say(terminal, "A fleet is a Git repository: three hosts, four machines, a database volume")
    cast.make_repo()
    terminal.line(cast.git(cast.checkout, "log", "--format=  %h %an: %s", "main").rstrip())
    say(terminal, "A reconciler, and a poollet on each host. Nobody gives an order: they read the repo")
    cast.reconcile()
    for name in HOSTS:
        cast.host(name)
    with opened(
        located(str(cast.repo), cast.environment, cast.folder), cast.environment, with_reports=False
    ) as fleet:
        screen = Screen(terminal)
        acts(terminal, cast, screen, fleet)
        finish(terminal, cast, time.monotonic() - start)
        if keep:
            play(terminal, cast, screen, fleet)


def acts(terminal: Terminal, cast: Cast, screen: Screen, fleet: Fleet) -> None:
    took = until(cast, screen, fleet, all_running, "all machines run")
    say(terminal, f"All run, after {took:.1f} s. One more, by commit")
    (cast.checkout / "machines/web-3.yaml").write_text(WEB_3)
    cast.commit("add web-3")
    took = until(cast, screen, fleet, lambda now: all_running(now) and has(now, "web-3"), "web-3 runs")
    lost = where(fleet, cast, "web-3")
    say(terminal, f"web-3 runs on {lost}, {took:.1f} s after its commit. Now the hypervisor of {lost} dies")
    cast.kill(f"runtime {lost}")
    took = until(cast, screen, fleet, lambda now: not is_ready(now, lost), f"{lost} is not ready")
    say(
        terminal,
        f"Noticed after {took:.1f} s. Its machines may still run, so nothing there is touched. It comes back",
    )
    cast.start_runtime(lost)
    took = until(cast, screen, fleet, lambda now: all_running(now) and is_ready(now, lost), f"{lost} is back")
    say(
        terminal, f"Back after {took:.1f} s, and every machine as it was. Someone removes web-3 from the repo"
    )
    (cast.checkout / "machines/web-3.yaml").unlink()
    cast.commit("web-3 has done its work")
    took = until(cast, screen, fleet, lambda now: not has(now, "web-3"), "web-3 is gone")
    say(terminal, f"Gone after {took:.1f} s: first an order on live, then the host's word, then the file")


def finish(terminal: Terminal, cast: Cast, seconds: float) -> None:
    say(terminal, f"Who did what, and why, in {seconds:.0f} s: git log --graph live")
    graph = cast.git(cast.repo, "log", "--graph", "--format=%h %an: %s", "live")
    for line in graph.rstrip().splitlines():
        terminal.line(f"  {line}")
    say(terminal, "What to try next")
    terminal.line(NEXT.rstrip("\n"))


def play(terminal: Terminal, cast: Cast, screen: Screen, fleet: Fleet) -> None:
    say(terminal, "The fleet goes on until Ctrl-C. In another terminal:")
    terminal.line(f"  export GITVIRT_REPO={cast.repo}")
    terminal.line("  gitvirt get machines -A; gitvirt tree; gitvirt top; gitvirt explain machine db")
    terminal.line(f"  cd {cast.checkout}    change something, commit, push")
    terminal.line(f"  logs are in {cast.folder / 'logs'}")
    terminal.line()
    now = fleet.again()
    while not cast.interrupt.came:
        screen.show(now.repo, inventory(now.repo, now.snapshot.target))
        now = next(moves(now, cast.interrupt.waker, 1.0), now)


def say(terminal: Terminal, text: str) -> None:
    terminal.line()
    terminal.line(terminal.paint(text, Style.BOLD))
    terminal.stream.flush()


def until(cast: Cast, screen: Screen, fleet: Fleet, is_so: Callable[[Inventory], bool], what: str) -> float:
    """Shows the fleet until it is as wanted; how long that took."""
    start = time.monotonic()
    now = fleet.again()
    while True:
        found = inventory(now.repo, now.snapshot.target)
        screen.show(now.repo, found)
        cast.check()
        took = time.monotonic() - start
        if is_so(found):
            screen.settle()
            return took
        if took > PATIENCE_SECONDS:
            cause = f"{what}: not so after {PATIENCE_SECONDS:.0f} s"
            raise CommandError(
                cause, f"this is a bug; the logs were in {cast.folder / 'logs'}", Exit.TIMED_OUT
            )
        now = next(moves(now, cast.interrupt.waker, 1.0), now)


def all_running(fleet: Inventory) -> bool:
    machines = fleet.of(Kind.MACHINE)
    return bool(machines) and all(columns.state(item) == "Running" for item in machines)


def has(fleet: Inventory, name: str) -> bool:
    return fleet.get(Kind.MACHINE, "default", name) is not None


def is_ready(fleet: Inventory, pool: str) -> bool:
    item = fleet.get(Kind.MACHINE_POOL, "", pool)
    return item is not None and columns.state(item) == "Ready"


def where(fleet: Fleet, cast: Cast, name: str) -> str:
    from reconciler.inventory.usage import pool_of

    now = fleet.again()
    item = inventory(now.repo, now.snapshot.target).get(Kind.MACHINE, "default", name)
    if item is None:
        raise CommandError(f"{name} is gone", f"the logs are in {cast.folder / 'logs'}")
    return pool_of(item)
