"""How fast text becomes values, and files documents of ours: alone, in threads and in processes, and beside other parsers."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from time import perf_counter, process_time

import yaml
from ruamel.yaml import YAML

from bench.measure import figure, peak_mebibytes
from schemas.manifest import parse
from schemas.reader import read
from schemas.reader.positions import Positions

COUNT = 20_000
SLOW = 100  # documents for those that take milliseconds

MACHINE = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-{0:06d}
  namespace: shop
  labels:
    app: web
    tier: "front"
spec:
  machineClassRef:
    name: small
  machinePoolSelector:
    topology.ironcore.dev/zone: eu-1
  power: On
  volumes:
    - name: root
      device: oda
      volumeRef:
        name: web-{0:06d}-root
  networkInterfaces:
    - name: lan
      networkInterfaceRef:
        name: web-{0:06d}-lan
"""


def texts(count: int) -> list[str]:
    return [MACHINE.format(number) for number in range(count)]


def rates(act: Callable[[str], object], given: Sequence[str], runs: int = 3) -> tuple[float, float]:
    """Documents a second by the clock and by the processor: the second holds on a busy machine too."""
    clock = processor = float("inf")
    for _ in range(runs):
        start, used = perf_counter(), process_time()
        for text in given:
            act(text)
        clock, processor = min(clock, perf_counter() - start), min(processor, process_time() - used)
    return len(given) / clock, len(given) / processor


def parse_all(text: str) -> None:
    assert parse("machine.yaml", text.encode()).documents


def careful(text: str) -> None:
    assert isinstance(read(text + "# 1_000\n"), tuple)


def add_underscores(text: str) -> None:
    assert isinstance(read(text + "# user_data\n"), tuple)


def read_with_marks(text: str) -> None:
    assert Positions(text).position(0, "/spec/power") > (0, 0)


def range_parsed(bounds: tuple[int, int]) -> int:
    """Documents made in the process that parses them, so that none travel."""
    gc.freeze()
    gc.disable()
    for number in range(*bounds):
        parse_all(MACHINE.format(number))
    return bounds[1] - bounds[0]


def concurrently(pool: ThreadPoolExecutor | ProcessPoolExecutor, workers: int) -> float:
    part = COUNT // workers
    list(pool.map(range_parsed, [(0, 1)] * workers))
    start = perf_counter()
    done = sum(pool.map(range_parsed, [(at * part, (at + 1) * part) for at in range(workers)]))
    return done / (perf_counter() - start)


def main() -> None:
    given = texts(COUNT)
    parse_all(given[0])
    gc.freeze()
    gc.disable()
    reading = rates(read, given)
    measured = {
        "read": reading,
        "read, with a doubtful number": rates(careful, given[: COUNT // 10]),
        "read, with an underscore": rates(add_underscores, given[: COUNT // 4]),
        "parse (read, check, identity)": rates(parse_all, given),
        "marks": rates(read_with_marks, given[: COUNT // 10]),
        "PyYAML with libyaml": rates(lambda text: yaml.load(text, Loader=yaml.CSafeLoader), given[:2000], 2),
        "ruamel.yaml, safe": rates(lambda text: YAML(typ="safe", pure=True).load(text), given[:SLOW], 2),
        "ruamel.yaml, round trip": rates(lambda text: YAML().load(text), given[:SLOW], 2),
    }
    with ThreadPoolExecutor(1) as pool:
        alone = concurrently(pool, 1)
    with ThreadPoolExecutor(2) as pool:
        threads = concurrently(pool, 2)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        processes = concurrently(pool, 2)
    for name, (clock, processor) in measured.items():
        ratio = f", read is {reading[1] / processor:.1f} times as fast" if name != "read" else ""
        figure(name, f"{clock:,.0f} documents/s, {processor:,.0f} by processor time{ratio}")
    figure(
        "parse in 1 thread / 2 threads / 2 processes",
        f"{alone:,.0f} / {threads:,.0f} / {processes:,.0f} documents/s",
    )
    figure("peak memory", f"{peak_mebibytes():.0f} MiB")


if __name__ == "__main__":
    main()
