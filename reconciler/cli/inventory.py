"""`gitvirt inventory`: machines and their addresses in the form that another program reads.

| option | form |
|---|---|
| `--ansible` | a dynamic inventory in JSON; groups by namespace, pool, class, state and each label |
| `--ssh-config` | `Host` blocks for `~/.ssh/config` |
| `--prometheus` | targets of `http_sd` and `file_sd`, in JSON |
| `--hosts` | lines of `/etc/hosts` |

An address is the first that the machine's host reports. A machine without one is left out, and standard error counts these. Writes nothing.

Must never happen: a name or label from a manifest becomes a directive of the other program. Names are those of the schemas (lower-case letters,
digits and dashes), addresses are parsed, and labels only appear as JSON.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import add_repo, named_fleet
from reconciler.cli.objects import columns
from reconciler.cli.objects.selectors import add_selectors, read_current, select_items
from reconciler.cli.terminal import err, out
from reconciler.query.inventory import InventoryItem
from reconciler.query.pool_usage import pool_of
from schemas.kinds import DEFAULT_NAMESPACE, Kind
from schemas.model import Machine
from schemas.problem import printable_json

EXAMPLES = """examples:
  gitvirt inventory --ansible -A > inventory.json && ansible -i inventory.json all -m ping
  gitvirt inventory --ssh-config -l app=web --user debian > ~/.ssh/fleet.conf
  gitvirt inventory --prometheus --port 9100 -A > /etc/prometheus/fleet.json
  gitvirt inventory --hosts -A >> /etc/hosts"""

PORT = 9100
_NO_GROUP = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class ReachableMachine:
    """A machine with the address that a host reports for it."""

    item: InventoryItem
    machine: Machine
    address: str

    @property
    def name(self) -> str:
        """Short in the default namespace; elsewhere with the namespace, as names repeat in others."""
        key = self.item.key
        return key.name if key.namespace == DEFAULT_NAMESPACE else f"{key.name}.{key.namespace}"

    @property
    def facts(self) -> dict[str, str]:
        """What else is known of it, by names that all forms share."""
        return {
            "namespace": self.item.key.namespace,
            "pool": pool_of(self.item),
            "class": self.machine.spec.machine_class_ref.name,
            "state": columns.shown_state(self.item).word,
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    forms = parser.add_mutually_exclusive_group(required=True)
    for form in FORMS:
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=HELP[form])
    parser.add_argument("--user", metavar="NAME", default="", help="login name on the machines")
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="PORT", help=f"of Prometheus targets (default: {PORT})"
    )
    add_selectors(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    with named_fleet(arguments.repo) as fleet:
        items = select_items(read_current(fleet, Kind.MACHINE), Kind.MACHINE, arguments)
    found = [each for item in items if (each := find_reachable(item)) is not None]
    text = FORMS[arguments.form](found, arguments)
    out().line(text.rstrip("\n"))
    if missing := len(items) - len(found):
        err().line(f"{missing} machines have no address yet and are left out")
    return Exit.OK


def find_reachable(item: InventoryItem) -> ReachableMachine | None:
    """None without an address that is one."""
    machine = item.object
    assert isinstance(machine, Machine)
    for interface in machine.status.network_interfaces:
        for written in interface.ips:
            try:
                return ReachableMachine(item, machine, str(ipaddress.ip_address(written)))
            except ValueError:
                continue
    return None


def format_ansible(found: Sequence[ReachableMachine], arguments: argparse.Namespace) -> str:
    """Groups have only characters that Ansible takes: others become an underscore."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    variables: dict[str, Mapping[str, object]] = {}
    for each in found:
        labels = dict(each.machine.metadata.labels)
        for kind, name in (*each.facts.items(), *(("label_" + key, text) for key, text in labels.items())):
            if name:
                groups[_NO_GROUP.sub("_", f"{kind}_{name}")].append(each.name)
        user = {"ansible_user": arguments.user} if arguments.user else {}
        facts = {f"gitvirt_{name}": text for name, text in each.facts.items()}
        variables[each.name] = {"ansible_host": each.address, **user, **facts, "gitvirt_labels": labels}
    hosts = {name: {"hosts": sorted(set(members))} for name, members in sorted(groups.items())}
    every = {"hosts": [each.name for each in found], "children": list(hosts)}
    return format_json({"_meta": {"hostvars": variables}, "all": every, **hosts})


def format_ssh_config(found: Sequence[ReachableMachine], arguments: argparse.Namespace) -> str:
    user = f"    User {arguments.user}\n" if arguments.user else ""
    return "".join(f"Host {each.name}\n    HostName {each.address}\n{user}" for each in found)


def format_prometheus(found: Sequence[ReachableMachine], arguments: argparse.Namespace) -> str:
    targets = []
    for each in found:
        host = f"[{each.address}]" if ":" in each.address else each.address
        labels = {f"gitvirt_{name}": text for name, text in each.facts.items() if name != "state"}
        for key, text in each.machine.metadata.labels.items():
            labels[_NO_GROUP.sub("_", f"gitvirt_label_{key}")] = text
        targets.append(
            {"targets": [f"{host}:{arguments.port}"], "labels": {"gitvirt_machine": each.name, **labels}}
        )
    return format_json(targets)


def format_hosts(found: Sequence[ReachableMachine], _: argparse.Namespace) -> str:
    return "".join(f"{each.address}\t{each.name}\n" for each in found)


def format_json(value: object) -> str:
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False))


FORMS: Mapping[str, Callable[[Sequence[ReachableMachine], argparse.Namespace], str]] = {
    "ansible": format_ansible,
    "ssh-config": format_ssh_config,
    "prometheus": format_prometheus,
    "hosts": format_hosts,
}
HELP = {
    "ansible": "a dynamic inventory for Ansible, in JSON",
    "ssh-config": "Host blocks for ~/.ssh/config",
    "prometheus": "targets for http_sd or file_sd, in JSON",
    "hosts": "lines of /etc/hosts",
}
