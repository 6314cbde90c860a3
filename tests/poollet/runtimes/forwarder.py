"""Opens a port of a machine as a poollet does, says what came of it, and reads one line: python -m ... PORT MAC ADDRESS...

Run as a process, because it looks at the networks of the namespace that it is in.
"""

from __future__ import annotations

import sys

from iri.machine import InterfaceDetail, MachineDetail, RuntimeMachine
from poollet.link.host_pipes import PipeRefusedError
from poollet.runtimes.forward_end import open_forward

if __name__ == "__main__":
    port, mac, *addresses = sys.argv[1:]
    detail = MachineDetail(network_interfaces=(InterfaceDetail(name="eth", mac=mac, ips=tuple(addresses)),))
    try:
        end = open_forward(RuntimeMachine(detail=detail), int(port))
    except PipeRefusedError as error:
        print(error.message)
    else:
        print(f"connected to {end.read().decode().strip()}")
        end.close()
