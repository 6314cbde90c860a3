"""`.gitvirtignore` agrees with Git itself, and file names tell which files are manifests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.cli.codes import CODES
from schemas.manifest.ignore import IGNORE_NOTHING, MAX_BYTES, Ignore, is_manifest


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("a.yaml", True),
        ("a.yml", True),
        ("a.json", True),
        ("zone-a/rack.1/a b\n.yaml", True),
        ("a.yaml.bak", False),
        ("a.YAML", False),
        ("yaml", False),
        ("gitvirt.yaml", False),
        ("zone/gitvirt.yaml", True),
        (".github/workflows/ci.yaml", False),
        (".gitlab-ci.yml", False),
        ("a/.hidden/b.yaml", False),
        ("a/.b.yaml", False),
        (".gitvirt/pools/a.yaml", True),
        (".gitvirtual/a.yaml", False),
    ],
)
def test_manifests_are_recognized_by_name(path: str, want: bool) -> None:
    assert is_manifest(path) is want


@pytest.mark.parametrize(
    ("patterns", "path", "want"),
    [
        ("", "a.yaml", False),
        ("# a.yaml\n", "a.yaml", False),
        ("*.json\n", "a/b.json", True),
        ("*.json\n!b.json\n", "a/b.json", False),
        ("/a.yaml\n", "a.yaml", True),
        ("/a.yaml\n", "b/a.yaml", False),
        ("charts/\n", "charts/a.yaml", True),
        ("charts/\n", "x/charts/y/a.yaml", True),
        ("charts/\n", "charts", False),
        ("charts/\n!charts/a.yaml\n", "charts/a.yaml", True),
        ("charts/*\n!charts/a.yaml\n", "charts/a.yaml", False),
        ("a/**/b.yaml\n", "a/x/y/b.yaml", True),
        ("**/t/\n", "a/t/b.yaml", True),
        ("\\#a.yaml\n", "#a.yaml", True),
        ("a.yaml   \r\n", "a.yaml", True),
        ("\ufeffa.yaml\n", "a.yaml", True),
        ("[ab].yaml\n", "b.yaml", True),
    ],
)
def test_patterns_match_as_in_gitignore(patterns: str, path: str, want: bool) -> None:
    assert Ignore(patterns.encode())(path) is want


def test_a_file_in_an_ignored_folder_is_ignored() -> None:
    ignore = Ignore(b"charts/\n*.tmp\n")
    assert ignore("charts", True)
    assert ignore("charts/sub", True)
    assert not ignore("machines", True)
    assert ignore("machines/x.tmp", True)
    assert not IGNORE_NOTHING("charts", True)
    assert not ignore("d/" * 5000 + "a.yaml")


def test_an_invalid_line_is_a_problem_and_the_others_apply() -> None:
    ignore = Ignore(b"!\na.yaml\nb\\\n/\nx[\n[z-a]\n**/**/**/**/**/a\n")
    assert [(problem.code, problem.line) for problem in ignore.problems] == [
        ("GV114", at) for at in (1, 3, 4, 5, 6, 7)
    ]
    assert ignore("a.yaml")
    assert "GV114" in CODES


def test_a_file_that_is_too_long_is_a_problem_and_ignores_nothing() -> None:
    ignore = Ignore(b"a.yaml\n" * MAX_BYTES)
    assert [problem.code for problem in ignore.problems] == ["GV114"]
    assert not ignore("a.yaml")


def test_a_hostile_pattern_takes_no_longer() -> None:
    for hostile in (b"*a" * 2000, b"a*" * 2000 + b"b", b"?*" * 2000 + b"b", b"**/**/**/a*a*a*b"):
        assert not Ignore(hostile)("a/" * 100 + "a" * 4000 + "c")


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert Ignore(b"\xff\xfe\x00*.json\n")("b.yaml") is False


PARTS = st.sampled_from(["a", "b", "ab", "c.yaml", "d.yml", "t", "a b"])
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(
    st.builds(
        lambda bang, lead, parts, tail: bang + lead + "/".join(parts) + tail,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "/", "**/"]),
        st.lists(PARTS | st.sampled_from(["*", "**", "?", "[ab]", "*.yaml", "a*"]), min_size=1, max_size=3),
        st.sampled_from(["", "/", "/*", "/**"]),
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@given(PATTERNS, st.lists(PATHS, min_size=1, max_size=12, unique=True))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_patterns_agree_with_git_check_ignore(repo: Path, patterns: list[str], paths: list[str]) -> None:
    """The paths do not exist, so about files. (Git's ? is a byte, ours a character.)"""
    text = "".join(f"{pattern}\n" for pattern in patterns)
    (repo / ".gitignore").write_text(text)
    result = subprocess.run(
        ["git", "-C", str(repo), "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr
    ignored = set(result.stdout.decode().split("\0")) - {""}
    ignore = Ignore(text.encode())
    assert {path for path in paths if ignore(path)} == ignored
