"""The name of a branch that people give, as git would take it. Pure; what the server allows is the server's to say.

It is checked before anything is read or written: git would refuse a bad name only at the push, with words about
refs that the person never typed.
"""

from __future__ import annotations

import argparse
import re

# What `git check-ref-format --branch` refuses, as git's documentation lists it.
_REFUSED = re.compile(
    r"[\x00-\x20\x7f-\x9f\ud800-\udfff~^:?*\[\\]|\.\.|@\{|//|^[-/]|[/.]$|(^|/)\.|\.lock(/|$)|^@$|^HEAD$"
)
_RULES = "git forbids blanks, ~ ^ : ? * [ \\, .. and @{, . or / at the end, - or . in front"


def parse_branch_name(text: str) -> str:
    """The type of an argument that names a branch. A branch `refs/...` is refused too: git would take its name for that of
    a ref, such as that of a host's reports, and find both."""
    if text.startswith("refs/"):
        name = text.removeprefix("refs/heads/")
        is_meant = not name.startswith("refs/") and not _REFUSED.search(name)
        hint = f"did you mean {name}?" if is_meant else "leave out refs/"
        raise argparse.ArgumentTypeError(f"{text!r} is a ref, not a branch; {hint}")
    if not text or _REFUSED.search(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a branch name; {_RULES}")
    return text
