"""How long after another process moved a ref of a local repo a waiting loop runs, against polling it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from bench.measure import figure, percentile
from reconciler.gitstore.waker import Waker, WakeReason, watch_refs

MOVES = 100


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder) / "repo.git"
        git(repo.parent, "init", "--quiet", "--bare", str(repo))
        tree = git(repo, "hash-object", "-w", "-t", "tree", "/dev/null")
        commits = [git(repo, "commit-tree", "-m", str(number), tree) for number in range(2)]
        waker, waits = Waker(), []
        with watch_refs(repo, lambda: waker.wake(WakeReason.REFS)):
            while waker.wait(0.3) is not WakeReason.TIMEOUT:
                pass
            for number in range(MOVES):
                git(repo, "update-ref", "refs/heads/live", commits[number % 2])
                start = time.perf_counter()
                waker.wait(10)
                waits.append((time.perf_counter() - start) * 1000)
                while waker.wait(0.05) is not WakeReason.TIMEOUT:
                    pass
    figure("wake after a local ref's move, median", f"{percentile(waits, 50):.1f} ms")
    figure("wake after a local ref's move, 99th percentile", f"{percentile(waits, 99):.1f} ms")
    figure("polling every 10 s would take, median", f"{5000 / percentile(waits, 50):.0f} times longer")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ("git", "-C", str(folder), *identity, *arguments), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
