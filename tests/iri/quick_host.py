"""A simulated host on which everything takes milliseconds, for tests that need some runtime."""

from __future__ import annotations

from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile, Times
from iri.simulated.seeded_random import DurationRange

BRIEFLY = DurationRange(0.001, 0.005, 0.02)
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 1 << 30}),
        RuntimeMachineClass(name="large", resources={"cpu": 4, "memory": 4 << 30}),
    ),
    volumes=(RuntimeVolumeClass(name="standard", tps=1 << 20, iops=100),),
)
TIMES = Times(**dict.fromkeys(Times.__struct_fields__, BRIEFLY))
PROFILE = Profile(classes=CLASSES, times=TIMES)


def quick_host(profile: Profile = PROFILE) -> SimulatedHost:
    return SimulatedHost(profile, seed=7)
