"""Which files of a repo are manifests: by their names, and by the patterns of `.gitvirtignore` with gitignore's rules.

There is one `.gitvirtignore`, at the root. The reconciler decides whether objects of newly ignored files are deleted: it
treats them as unverified, because a new pattern hides a file and does not remove what the file declares.

A `.gitvirtignore` that is too large applies no pattern at all, and says so: half of it would be a choice of files that no
person made.
"""

from __future__ import annotations

from schemas import live_layout
from schemas.manifest.glob import Pattern, parse_pattern
from schemas.problem import Problem, Severity, Violation

PATH = ".gitvirtignore"

MANIFESTS = (".yaml", ".yml", ".json")
SETTINGS = "gitvirt.yaml"

MAX_BYTES = 64 * 1024


def is_manifest(path: str) -> bool:
    """By the name alone: YAML or JSON, outside of folders that begin with a dot, which belong to other tools."""
    if not path.endswith(MANIFESTS) or path == SETTINGS:
        return False
    return (not path.startswith(".") and "/." not in path) or path.startswith(live_layout.FOLDER)


class Ignore:
    """The patterns of one `.gitvirtignore`. Call it with a path from the root, `/` between its parts.

    As in Git, a file in an ignored folder is ignored, even if another pattern makes an exception for it.
    """

    def __init__(self, data: bytes = b"") -> None:
        self.problems: tuple[Problem, ...] = ()
        self._folders: dict[str, bool] = {"": False}
        self._patterns: tuple[Pattern, ...] = ()
        if data:
            self._compile(data)

    def __call__(self, path: str, is_folder: bool = False) -> bool:
        if not self._patterns:
            return False
        if is_folder:
            return self._is_left_out(path)
        return self._is_left_out(path.rpartition("/")[0]) or self._matches(path, is_folder=False)

    def _is_left_out(self, folder: str) -> bool:
        """Whether the folder or an enclosing one is ignored. Each folder is matched once."""
        known = self._folders
        missing = []
        while folder not in known:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        is_ignored = known[folder]
        for inner in reversed(missing):
            is_ignored = is_ignored or self._matches(inner, is_folder=True)
            known[inner] = is_ignored
        return is_ignored

    def _matches(self, path: str, *, is_folder: bool) -> bool:
        """The last pattern that matches decides."""
        for one in self._patterns:
            if (is_folder or not one.is_for_folders) and one.matches(path):
                return not one.is_exception
        return False

    def _compile(self, data: bytes) -> None:
        """Reads all lines. The last matching pattern decides, so they are kept in reverse order."""
        if len(data) > MAX_BYTES:
            self.problems = (_problem(0, f"{len(data):,} bytes are too many; no pattern is applied"),)
            return
        patterns, problems = [], []
        lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
        for number, line in enumerate(lines, 1):
            found = parse_pattern(line.removesuffix("\r"))
            if isinstance(found, str):
                problems.append(_problem(number, f"this pattern has no effect: {found}"))
            elif found is not None:
                patterns.append(found)
        self._patterns, self.problems = tuple(reversed(patterns)), tuple(problems)


IGNORE_NOTHING = Ignore()


def _problem(line: int, message: str) -> Problem:
    hint = "fix or remove the line" if line else "shorten the file: a pattern can name a whole folder"
    severity = Severity.WARNING if line else Severity.ERROR
    return Violation("", "GV114", message, hint, severity).locate(PATH, (line, min(line, 1)))
