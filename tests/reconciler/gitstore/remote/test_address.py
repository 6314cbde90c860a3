from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.codes import CODES
from reconciler.gitstore.remote.address import AddressError, RemoteAddress, Scheme, parse_address

HERE = Path("/here")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("/srv/fleet.git", RemoteAddress(Scheme.PATH, "/srv/fleet.git")),
        ("fleet.git", RemoteAddress(Scheme.PATH, "/here/fleet.git")),
        ("../fleet", RemoteAddress(Scheme.PATH, "/fleet")),
        ("./a:b", RemoteAddress(Scheme.PATH, "/here/a:b")),
        ("file:///srv/fleet.git", RemoteAddress(Scheme.FILE, "file:///srv/fleet.git")),
        ("ssh://git@h:2222/f.git", RemoteAddress(Scheme.SSH, "ssh://git@h:2222/f.git", "h")),
        ("git@h:org/f.git", RemoteAddress(Scheme.SSH, "git@h:org/f.git", "h")),
        ("h:f.git", RemoteAddress(Scheme.SSH, "h:f.git", "h")),
        ("git@[::1]:f.git", RemoteAddress(Scheme.SSH, "git@[::1]:f.git", "::1")),
        ("https://h/f.git", RemoteAddress(Scheme.HTTPS, "https://h/f.git", "h", "https://h")),
        ("https://H:8443/f", RemoteAddress(Scheme.HTTPS, "https://h:8443/f", "h", "https://h:8443")),
        ("https://ann%40x@h/f", RemoteAddress(Scheme.HTTPS, "https://h/f", "h", "https://h", "ann@x")),
        ("http://[::1]:80/f", RemoteAddress(Scheme.HTTP, "http://[::1]:80/f", "::1", "http://[::1]:80")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_branch_names_are_those_that_git_accepts(text: str, want: RemoteAddress) -> None:
    assert parse_address(text, HERE) == want


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" /x", "blanks"),
        ("/x\n", "blanks"),
        ("--upload-pack=evil", "option"),
        ("ext::sh -c evil", "run a program"),
        ("fd::3", "run a program"),
        ("git://h/f.git", "not supported"),
        ("ftp://h/f.git", "not supported"),
        ("file://h/f.git", "cannot name a host"),
        ("ssh://-oProxyCommand=evil/f", "no host"),
        ("ssh:///f", "no host"),
        ("-oProxyCommand=evil:f", "option"),
        ("x@-oProxyCommand=evil:f", "option"),
        ("https://h:port/f", "not well formed"),
        ("https://h/f?private_token=S3CRET", "query"),
        ("https://h/f#S3CRET", "query"),
        ("https://ann:S3CRET@h/f", "password"),
        ("ssh://ann:S3CRET@h/f", "password"),
        ("https://ann:@h/f", "password"),
    ],
    ids=lambda value: value,
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(AddressError, match=words) as caught:
        parse_address(text, HERE)
    assert caught.value.cure
    assert caught.value.code in CODES
    assert "S3CRET" not in f"{caught.value} {caught.value.cure} {caught.value.__context__!r}"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("/srv/f", True),
        ("http://localhost/f", True),
        ("http://127.9.9.9:1/f", True),
        ("http://[::1]/f", True),
        ("http://10.0.0.1/f", False),
        ("http://localhost.example.org/f", False),
        ("http://127.0.0.1.example.org/f", False),
    ],
)
def test_which_addresses_stay_on_this_machine(text: str, want: bool) -> None:
    assert parse_address(text, HERE).is_this_machine is want


@given(
    scheme=st.sampled_from(["http", "https"]),
    user=st.text("abc%4:/@?#[]é ", max_size=6),
    secret=st.text("XYZ%4:/@?#[]é ", min_size=1, max_size=12).filter(
        lambda text: any(c in "XYZ" for c in text)
    ),
)
def test_no_address_and_no_error_ever_holds_a_password(scheme: str, user: str, secret: str) -> None:
    """Whatever precedes the host, well escaped or not: either it is refused in words that do not repeat it, or it
    was not a password and git would not take it for one."""
    words, place = "", ""
    try:
        place = (
            parse_address(f"{scheme}://{user}:{secret}@host/f", HERE)
            .url.partition("://")[2]
            .partition("/")[0]
        )
    except AddressError as error:
        words = f"{error} {error.cure}"
    assert not set(words) & set("XYZ")
    assert "@" not in place
