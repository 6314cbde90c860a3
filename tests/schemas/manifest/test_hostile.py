"""Text that is made to crash, hang or swallow memory: each in a process of its own with bounds, each a finding.

The sizes are those at which the parser alone dies, takes minutes, or takes gigabytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SECONDS = 20
ADDRESS_SPACE = 2 << 30
SMALL = 100  # MiB resident, of which Python and the schemas are 45
LARGE = 450  # the same for a file of the largest size

# The program bounds itself: to run code between fork and exec is unsafe in a process with threads.
PROGRAM = """
import json, re, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2])))
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from schemas.manifest import MAX_BYTES, parse
data = eval(sys.argv[1])
found = parse("a.yaml", data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
codes = sorted({problem.code for problem in found.problems})
assert all(problem.hint for problem in found.problems if problem.code == "GV103")
# Not getrusage: its peak begins with that of the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(json.dumps([codes, int(peak) // 1024]))
"""

BOMB = "'a0: &a0 [x, x]\\n' + ''.join(f'a{n}: &a{n} [*a{n-1}, *a{n-1}]\\n' for n in range(1, 60))"
CHAIN = "'- &a0 [x]\\n' + ''.join(f'- &a{n} [*a{n-1}]\\n' for n in range(1, 5000))"
COLLIDING = "''.join(f'{n * (2**61 - 1)}: \\n' for n in range(1, 150000))"
NETWORK = "'apiVersion: networking.ironcore.dev/v1alpha1\\nkind: Network\\nmetadata: {name: lan}\\n'"


def found_in(expression: str) -> tuple[list[str], int]:
    """Codes of what is found in the text, and the peak of resident memory in MiB."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, expression, str(SECONDS), str(ADDRESS_SPACE)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == 0, (ran.returncode, ran.stderr.decode()[-500:])
    codes, peak = json.loads(ran.stdout)
    return codes, peak


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        # 100,000 levels
        ("'[' * 100_000 + ']' * 100_000", "GV103"),
        ("'[' * 100_000", "GV103"),
        ("'{a: ' * 100_000 + '}' * 100_000", "GV103"),
        ("'- ' * 100_000 + 'x'", "GV103"),
        ("'? ' * 100_000 + 'x'", "GV103"),
        ("': ' * 100_000 + 'x'", "GV103"),
        ("'? - ' * 50_000 + 'x'", "GV103"),
        ("'a:\\n  ' + '- ' * 100_000 + 'x'", "GV103"),
        ("'- ' * 50_000 + '[' * 50_000 + ']' * 50_000", "GV103"),
        ("'\\r' + '- ' * 100_000 + 'x'", "GV103"),
        ("''.join(' ' * n + 'a:\\n' for n in range(2_500))", "GV103"),
        ("''.join(' ' * n + 'a:\\n' + ' ' * n + '-\\n' for n in range(1_500))", "GV103"),
        # aliases
        (BOMB, "GV104"),
        (CHAIN, "GV103"),
        ("'a: &a ' + 'x' * 1_000_000 + '\\nb: [' + '*a, ' * 100_000 + ']'", "GV104"),
        ("'a: &a [*a, *a]'", "GV112"),
        ("'&a {<<: *a}'", "GV112"),
        ("'[' * 90_000 + '&a *a'", "GV103"),
        # numbers
        ("'a: ' + '9' * 4_000_000", "GV110"),
        ("'a: 0x' + 'f' * 4_000_000", "GV110"),
        (COLLIDING, "GV110"),
        (NETWORK + " + 'spec: {providerID: ' + '9' * 900 + '}'", "GV203"),
        # text
        ("'a: 1\\n\\tb: 2\\n'", "GV101"),
        ("'a: \\x00'", "GV107"),
        ("'a: \\x1b[2J'", "GV105"),
        ("'a: \\ud800'", "GV106"),
        ("b'\\xff' * 1000", "GV106"),
        ("bytes(range(256)) * 10_000", "GV107"),
        (NETWORK + ".replace('lan', '\"l\\\\nan\"')", "GV205"),
        (NETWORK + " + 'spec: {ipv4: {cidr: 10.0.0.0/8, dhcp: .nan}}'", "GV203"),
        # sizes
        ("b'a' * 100_000_000", "GV108"),
    ],
)
def test_a_hostile_text_is_refused_in_bounded_time(expression: str, code: str) -> None:
    codes, peak = found_in(expression)
    assert codes == [code]
    assert peak < SMALL + 100 * (
        "100_000_000" in expression or "4_000_000" in expression or "150000" in expression
    )


@pytest.mark.parametrize(
    "expression",
    [
        "('[' + '[],' * (MAX_BYTES // 3))[:MAX_BYTES - 1] + ']'",
        "('- a\\n b\\n' * (MAX_BYTES // 7))",
        "(':\\n' * (MAX_BYTES // 2))",
        "('- *a\\n' * (MAX_BYTES // 5))",
        "('\"\\\\n\" ' * (MAX_BYTES // 5))",
        "'a: \"' + ' ' * (MAX_BYTES - 5) + '\"'",
        "'a: |\\n' + ' x\\n' * (MAX_BYTES // 3 - 5)",
        "'&a ' * (MAX_BYTES // 3)",
        "'%A\\n' * (MAX_BYTES // 3)",
        "'x' * MAX_BYTES",
        "'1_' * (MAX_BYTES // 2)",
        "'1_0 ' * (MAX_BYTES // 4)",
        f"({NETWORK} + '---\\n') * (MAX_BYTES // 100)",
        f"({NETWORK} + 'spek: 1\\n---\\n') * 2_000",
    ],
)
def test_the_largest_file_stays_within_bounds(expression: str) -> None:
    _, peak = found_in(expression)
    assert peak < LARGE
