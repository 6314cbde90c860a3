"""The files of a report, read within the limits of schemas/report/limits.py: whoever wrote it, and whatever its objects unfold to.

Theory of operation
-------------------
A report is a commit that a host pushed. Git servers accept much else under a report's ref, and so does this module, as an error:

    on the ref                                        outcome
    a blob, a tree, a tag                             NotACommitError
    a commit or a folder that is malformed            MalformedError
    an object that is missing                         DamageError
    more entries, names, files or bytes than allowed  TooLargeError
    a file that is too large, or is not JSON          that one file is unreadable; the others are read
    files and folders that the format does not know   not read
    links and submodules                              not read: a host could point one at anything

Sizes come from the headers of objects, before one of them is read. The poollet, the reconciler and the verbs that print reports all
read through here.

Must never happen: an object is read whose size was not compared with its limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reconciler.gitstore.errors import TooLargeError
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.repo import DiffLimits, FileChange, Repo
from schemas.report import limits
from schemas.report.objects import ReportPart
from schemas.report.tree import UnreadableFile, enters_folder, layout_of, read_file, too_large_file

CURE = "the limits of a report are listed in docs/poollet.md"
LIMITS = DiffLimits(
    enters_folder, limits.MAX_ENTRIES, limits.MAX_FOLDER_BYTES, commit_bytes=limits.MAX_COMMIT_BYTES
)
TOP_LIMITS = replace(LIMITS, enters=lambda _: False)
_CONTENT = (FileMode.FILE, FileMode.EXECUTABLE)


@dataclass(slots=True)
class ReportSize:
    """Of the files of one report that the format knows. Kept from read to read, so that a report cannot grow past its limits."""

    files: int = 0
    bytes: int = 0

    def count(self, repo: Repo, change: FileChange) -> None:
        """Raises TooLargeError once the report has too much."""
        for file, sign in ((change.before, -1), (change.after, 1)):
            if file is not None:
                size = repo.size(file.id)
                self.files += sign
                self.bytes += sign * size if size <= limits.MAX_FILE_BYTES else 0  # larger ones are not read
        if self.files > limits.MAX_FILES:
            raise TooLargeError(f"it has more than {limits.MAX_FILES:,} files", CURE)
        if self.bytes > limits.MAX_REPORT_BYTES:
            raise TooLargeError(f"its files have more than {limits.MAX_REPORT_BYTES:,} bytes", CURE)


def changed_files(
    repo: Repo, before: ObjectId | None, commit: ObjectId, starts: tuple[str, ...] = ("",)
) -> Iterator[FileChange]:
    """What a report says otherwise than at `before`, in paths that begin so; a file that became a link is gone."""
    for path, old, new in repo.diff(before, commit, LIMITS):
        if not path.startswith(starts):
            continue
        old, new = _content(old), _content(new)
        if (old or new) and layout_of(path) is not None:
            yield FileChange(path, old, new)


def read_part(repo: Repo, file: File) -> ReportPart | UnreadableFile | None:
    """What one file says."""
    size = repo.size(file.id)
    return (
        too_large_file(file.path, size)
        if size > limits.MAX_FILE_BYTES
        else read_file(file.path, repo.read(file.id))
    )


def read_parts(repo: Repo, commit: ObjectId) -> Mapping[str, ReportPart | UnreadableFile]:
    """A whole report, by its paths."""
    size, found = ReportSize(), {}
    for change in changed_files(repo, None, commit):
        size.count(repo, change)
        part = read_part(repo, change.after) if change.after else None
        if part is not None:
            found[change.path] = part
    return found


def read_top_part(repo: Repo, commit: ObjectId, path: str) -> ReportPart | UnreadableFile | None:
    """One file that is in no folder, such as events.json: no folder is looked into."""
    for change in repo.diff(None, commit, TOP_LIMITS):
        file = _content(change.after)
        if file is not None and file.path == path:
            return read_part(repo, file)
    return None


@dataclass(frozen=True, slots=True)
class ReportContents:
    """`is_all`: there is nothing else on the ref, such as files that the format does not know."""

    files: Mapping[str, bytes]
    is_all: bool


def read_contents(repo: Repo, commit: ObjectId) -> ReportContents:
    """The bytes of every file that is small enough. Empty ones stand for the others: no file of a report is empty."""
    size, found, is_all = ReportSize(), {}, True
    for change in repo.diff(None, commit, LIMITS):
        file = _content(change.after)
        if file is None or layout_of(file.path) is None:
            is_all = False
            continue
        size.count(repo, FileChange(file.path, None, file))
        is_small = repo.size(file.id) <= limits.MAX_FILE_BYTES
        found[file.path] = repo.read(file.id) if is_small else b""
    return ReportContents(found, is_all)


def _content(file: File | None) -> File | None:
    return file if file is not None and file.mode in _CONTENT else None
