"""How large a report may be. What is larger is not read: a report is written by a host, and a host may be broken or hostile.

Readers look at the headers of Git objects first, so that a report beyond these limits costs neither memory nor time. One file that is
too large is an unreadable file. Any other limit makes the whole report unreadable.
"""

from __future__ import annotations

MAX_FILES = 20_000  # paths that the format knows
MAX_REPORT_BYTES = 32 << 20  # of all files together; a file that is there twice counts twice
MAX_FILE_BYTES = 2 << 20
MAX_FILE_VALUES = 100_000  # of the JSON in one file: each takes about a hundred bytes once it is read
MAX_ENTRIES = 2 * MAX_FILES  # of all folders, with those that the format does not know
MAX_FOLDER_BYTES = 4 << 20  # the names in all folders, as Git stores them
MAX_COMMIT_BYTES = 64 << 10
MAX_CANDIDATE_COMMITS = 100  # on top of the report, one for each other host that waited for its pools
