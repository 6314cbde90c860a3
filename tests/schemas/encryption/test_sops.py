"""Files of the program sops open here with their MAC verified, and what is written here is what sops would write."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyrage
import pytest

from schemas.encryption.age_armor import Identities
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.encryption.sops_document import open_documents, read_metadata, unwrap
from schemas.encryption.sops_text import open_text, read_body, rewrap_text, seal_text
from schemas.encryption.sops_values import NONCE_BYTES, Plain, nonce_of, open_value, seal_value
from schemas.reader import Unreadable, read
from tests.schemas.encryption.keys import ADMIN, ADMIN_PUBLIC, HOST, HOST_PUBLIC, PLAIN, VALUES, golden

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
UNLISTED = Identities((pyrage.x25519.Identity.generate(),))


def other() -> tuple[Identities, str]:
    key = pyrage.x25519.Identity.generate()
    return Identities((key,)), str(key.to_public())


def values_of(text: str, identities: Identities) -> dict[str, bytes]:
    opened = open_documents((read_body(text),), identities)
    return {key: plain.data for key, plain in opened.values(0, "stringData").items()}


@pytest.mark.parametrize(
    ("name", "key"), [("age", ADMIN), ("two", ADMIN), ("two", HOST), ("mac-only", ADMIN)]
)
def test_a_file_of_sops_opens(name: str, key: Identities) -> None:
    assert values_of(golden(name), key) == VALUES


def test_all_documents_of_a_file_of_sops_open_together() -> None:
    documents = read(golden("documents"))
    assert not isinstance(documents, Unreadable)
    bodies = [dict(each) for each in documents if isinstance(each, dict)]
    opened = open_documents(bodies, ADMIN)  # type: ignore[arg-type]
    assert {key: one.data for key, one in opened.values(1, "stringData").items()} == VALUES
    with pytest.raises(SealedError) as refused:
        open_documents(bodies[:1], ADMIN)  # type: ignore[arg-type]
    assert (refused.value.reason, refused.value.key) == (SealedReason.TAMPERED, "sops.mac")


def test_a_file_of_sops_is_edited_as_text_with_its_comments() -> None:
    text = open_text(golden("age"), ADMIN).text
    assert "# changed each quarter" in text
    assert "# for the app" in text
    assert text.startswith("# The database of the shop.\n")
    assert "sops" not in text
    assert "ENC[" not in text
    assert read_body(text) == read_body(PLAIN)


def test_what_is_written_is_what_sops_wrote() -> None:
    """With the nonces and the time of a golden file each encrypted value and the MAC come out byte for byte: nothing else is in the format."""
    before = golden("age")
    opened = open_text(before, ADMIN)
    metadata = read_metadata(read_body(before))
    modified = datetime.strptime(metadata.modified, "%Y-%m-%dT%H:%M:%S%z")
    after = seal_text(opened.text, [ADMIN_PUBLIC], modified, opened, lambda size: nonce_of(metadata.mac))
    assert set(re.findall(r"ENC\[[^]]*\]", after)) == set(re.findall(r"ENC\[[^]]*\]", before))
    assert read_metadata(read_body(after)).wrapped == metadata.wrapped


def test_text_becomes_the_same_text_with_values_and_comments_encrypted() -> None:
    sealed = seal_text(PLAIN, [ADMIN_PUBLIC, HOST_PUBLIC], NOW)
    for hidden in ("correct horse", "changed each", "for the app", "aGVsbG8", "5432", "host = db"):
        assert hidden not in sealed
    for readable in ("# The database of the shop.", "name: database", "team: data", "immutable: true"):
        assert readable in sealed
    assert values_of(sealed, HOST) == VALUES == values_of(sealed, ADMIN)
    assert read_body(open_text(sealed, HOST).text) == read_body(PLAIN)
    with pytest.raises(SealedError) as refused:
        values_of(sealed, UNLISTED)
    assert refused.value.reason is SealedReason.NO_KEY


TEXTS = {
    "words": "a: yes\n  b: 'no'\n  c: \"~\"\n  d: '12'\n  e: null-ish\n  f: 'true'",
    "blocks": "a: |-\n    one\n    two\n  b: >\n    three\n    four\n\n  c: |+\n    five\n\n  d: '#no comment'",
    "characters": 'a: "\\u0001\\t\\u00e9\\U0001F600"\n  b: "tab\\there"\n  c: "\\n\\n"\n  d: "  x  \\n y\\n"\n  e: "x\\r\\ny"',
    "comments": "# one\n  a: b#c # two\n\n  # three\n  d: 'e # f'\n  # four",
    "keys": "a.b_c-1: x\n  ssh-privatekey: y\n  '1': z",
}


@pytest.mark.parametrize("name", TEXTS)
def test_values_in_every_notation_come_back(name: str) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  {TEXTS[name]}\ndata:\n  z: eA==\n"
    sealed = seal_text(text, [ADMIN_PUBLIC], NOW)
    opened = open_text(sealed, ADMIN)
    assert read_body(opened.text) == read_body(text)
    for comment in ("# one", "# two", "# three", "# four"):
        assert (comment in text) == (comment in opened.text)
        assert comment not in sealed
    again = seal_text(opened.text, [ADMIN_PUBLIC], NOW, opened)
    assert read_body(open_text(again, ADMIN).text) == read_body(text)


def test_an_edit_leaves_values_that_did_not_change_as_they_were() -> None:
    sealed = seal_text(PLAIN, [ADMIN_PUBLIC], NOW)
    opened = open_text(sealed, ADMIN)
    later = NOW + timedelta(days=1)
    after = seal_text(opened.text.replace("correct horse", "wrong horse"), [ADMIN_PUBLIC], later, opened)
    before_lines, after_lines = sealed.splitlines(), after.splitlines()
    changed = [line.split(":")[0].strip() for line in before_lines if line not in after_lines]
    assert changed == ["password", "lastmodified", "mac"]


def test_a_recipient_that_comes_changes_no_value_and_one_that_goes_gets_nothing_new() -> None:
    second, second_public = other()
    first = seal_text(PLAIN, [ADMIN_PUBLIC, HOST_PUBLIC], NOW)
    wider = rewrap_text(first, [ADMIN_PUBLIC, HOST_PUBLIC, second_public], ADMIN)
    assert values_of(wider, second) == VALUES
    assert [line for line in first.splitlines() if "ENC[" in line] == [
        line for line in wider.splitlines() if "ENC[" in line
    ]
    with pytest.raises(ValueError, match="a new data key"):
        rewrap_text(wider, [ADMIN_PUBLIC], ADMIN)
    opened = open_text(wider, ADMIN)
    narrower = seal_text(opened.text, [ADMIN_PUBLIC, second_public], NOW, opened)
    with pytest.raises(SealedError):
        values_of(narrower, HOST)
    old_key = unwrap(read_metadata(read_body(first)), HOST)
    sealed_password = str(read_body(narrower)["stringData"]["password"])
    with pytest.raises(SealedError):
        open_value(sealed_password, old_key, "stringData:password:")


BAD: dict[str, tuple[Callable[[str], str], SealedReason, str]] = {
    "no mac": (lambda text: re.sub(r"    mac: .*\n", "", text), SealedReason.MALFORMED, "sops.mac"),
    "value by hand": (lambda text: re.sub(r"port: ENC.*", "port: '1'", text), SealedReason.MALFORMED, "stringData.port"),
    "value removed": (lambda text: re.sub(r"    port: ENC.*\n", "", text), SealedReason.TAMPERED, "sops.mac"),
    "value renamed": (lambda text: text.replace("    port: ENC", "    prot: ENC"), SealedReason.TAMPERED, "stringData.prot"),
    "other name": (lambda text: text.replace("name: database", "name: other"), SealedReason.TAMPERED, "sops.mac"),
    "other time": (lambda text: re.sub('lastmodified: "2026', 'lastmodified: "2027', text), SealedReason.TAMPERED, "sops.mac"),
    "no recipients": (lambda text: re.sub(r"    age:\n(?:     .*\n)*", "", text), SealedReason.NO_KEY, "sops.age"),
    "age is text": (lambda text: re.sub(r"    age:\n(?:     .*\n)*", "    age: x\n", text), SealedReason.MALFORMED, "sops.age"),
    "slow pattern": (lambda text: text.replace("^(data|stringData)$", "'(a+)+$'"), SealedReason.UNSUPPORTED, "sops.encrypted_regex"),
    "many repeats": (lambda text: text.replace("^(data|stringData)$", "'.*.*.*.*x'"), SealedReason.UNSUPPORTED, "sops.encrypted_regex"),
    "no pattern": (lambda text: text.replace("^(data|stringData)$", "'(data'"), SealedReason.MALFORMED, "sops.encrypted_regex"),
    "other pattern": (lambda text: text.replace("^(data|stringData)$", "^data$"), SealedReason.TAMPERED, "sops.mac"),
    "groups": (lambda text: text.replace("    encrypted_regex", "    shamir_threshold: 2\n    encrypted_regex"), SealedReason.UNSUPPORTED, "sops.shamir_threshold"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_as_sops_left_it_is_refused_with_key_and_cause(name: str) -> None:
    change, reason, key = BAD[name]
    text = change(golden("age"))
    assert text != golden("age")
    with pytest.raises(SealedError) as refused:
        values_of(text, ADMIN)
    assert (refused.value.reason, refused.value.key) == (reason, key)
    assert all(value.decode() not in str(refused.value) for value in VALUES.values() if value)


def test_a_wrong_mac_is_not_passed_on_to_another_recipient() -> None:
    text = re.sub(r"    port: ENC.*\n", "", golden("age"))
    with pytest.raises(SealedError):
        rewrap_text(text, [ADMIN_PUBLIC, HOST_PUBLIC], ADMIN)


def try_values(text: str) -> dict[str, bytes] | None:
    """None where the file is refused; what is said of it names a cause, and no value."""
    try:
        return values_of(text, ADMIN)
    except SealedError as error:
        if not error.cause or "swordfish" in str(error):
            raise
        return None


def small_file() -> str:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  k: swordfish\n"
    return seal_text(text, [ADMIN_PUBLIC], NOW)


def test_each_byte_of_a_small_file_counts() -> None:
    """Refused, or it opens to the same values under the same name: what SOPS covers neither (names of readable keys, the version, the
    texts of recipients, blanks) decides nothing. In encrypted values, armor, MAC and time no change passes."""
    text = small_file()
    spans = [match.span() for match in re.finditer(r'ENC\[.*\]|(?<=lastmodified: ")[^"]*', text)]
    armor = (text.index("-----BEGIN"), text.index("END AGE ENCRYPTED FILE-----"))
    covered = {at for start, end in spans for at in range(start, end)}
    covered |= {at for at in range(*armor) if text[at] not in " \n"}
    passed = set()
    for at, letter in enumerate(text):
        changed = text[:at] + chr(ord(letter) ^ 1) + text[at + 1 :]
        values = try_values(changed)
        if values is None:
            continue
        passed.add(at)
        body = read_body(changed)
        if (body.get("kind"), body.get("metadata"), "stringData" in body) == ("Secret", {"name": "a"}, True):
            assert values == {"k": b"swordfish"}
    assert passed & covered == set()


def test_each_bit_of_a_value_counts() -> None:
    text = small_file()
    start = text.index("k: ENC[") + len("k: ")
    end = text.index("]", start)
    for at in range(start, end + 1):
        for bit in range(7):
            letter = chr(ord(text[at]) ^ 1 << bit)
            with pytest.raises(SealedError):
                values_of(text[:at] + letter + text[at + 1 :], ADMIN)


def test_nothing_of_a_value_is_in_a_text_of_the_types() -> None:
    opened = open_text(golden("age"), ADMIN)
    documents = open_documents((read_body(golden("age")),), ADMIN)
    for each in (opened, documents, ADMIN, documents.values(0, "stringData")):
        assert "correct horse" not in repr(each)
        assert base64.b64encode(opened.data_key).decode() not in repr(each)


SMALL = "# top\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n    user: shop\n    password: swordfish-and-chips\n"
LEAKS = {
    "the last key": (SMALL + "    port: x\n", SMALL + "#    port: x\n", "comment of line 8"),
    "the last key of the value": (SMALL, SMALL.replace("    password", "#    password"), "comment of line 7"),
    "beside the section": (SMALL, SMALL.replace("stringData:", "stringData: # x"), "comment of line 5"),
    "below another key": (SMALL, SMALL + "type: Opaque # x\n", "comment of line 8"),
    "no key is left": (SMALL, "stringData:".join((SMALL.split("stringData:")[0], "\n# user: shop\n")), "comment of line 6"),
    "above the section": (SMALL, SMALL.replace("# top", "# was swordfish-and-chips"), "comment of line 1 has the value of stringData.password"),
    "an old value": (SMALL, SMALL.replace("# top", "# was swordfish-and-chips").replace("password: swordfish-and-chips", "password: new"), "comment of line 1"),
    "a line of a value": (SMALL, SMALL.replace("# top", "# second line").replace("shop", "|\n        first line\n        second line"), "comment of line 1"),
    "a label": (SMALL, SMALL.replace("{name: a}", "{name: a, labels: {b: swordfish-and-chips}}"), "metadata.labels.b has the value of stringData.password"),
    "what base64 encodes": (SMALL, SMALL.replace("# top", "# chips and fish") + "data:\n    z: Y2hpcHMgYW5kIGZpc2g=\n", "the value of data.z"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_no_edit_makes_a_value_readable(name: str) -> None:
    first, after, want = LEAKS[name]
    opened = open_text(seal_text(first, [ADMIN_PUBLIC], NOW), ADMIN)
    assert opened.text == first
    for before in (opened, None):
        if before is None and name == "an old value":
            continue  # a new text has no old value
        with pytest.raises(SealedError, match=want) as refused:
            seal_text(after, [ADMIN_PUBLIC], NOW, before)
        assert "swordfish" not in str(refused.value)


READABLE = {
    "indented": SMALL + "    # password: swordfish-and-chips\n",
    "between values": SMALL.replace("    password", "# was swordfish-and-chips\n    password"),
    "in a block": SMALL + "    config: |\n        # swordfish-and-chips\n",
    "a word of a comment": SMALL.replace("# top", "# the shop"),
    "not a comment": SMALL.replace("{name: a}", "{name: a, annotations: {b: '# x', c: d#e}}") + "type: a#b\n",
    "in a list": SMALL.replace("{name: a}", "{name: a, finalizers: [x, 'y # z']}"),
}


@pytest.mark.parametrize("name", READABLE)
def test_comments_that_are_encrypted_or_harmless_are_accepted(name: str) -> None:
    sealed = seal_text(READABLE[name], [ADMIN_PUBLIC], NOW)
    assert "swordfish" not in sealed
    assert read_body(open_text(sealed, ADMIN).text) == read_body(READABLE[name])


def test_what_was_readable_before_prevents_no_new_data_key() -> None:
    """A comment that sops left readable is in Git already; a reader that goes is closed out all the same, and nothing new gets readable."""
    sealed = seal_text(SMALL, [ADMIN_PUBLIC, HOST_PUBLIC], NOW)
    sealed = sealed.replace("sops:", "# old\nsops:").replace("# top", "# swordfish-and-chips")
    opened = open_text(sealed, ADMIN)
    again = seal_text(opened.text, [ADMIN_PUBLIC], NOW, opened, has_new_key=True)
    assert read_body(open_text(again, ADMIN).text) == read_body(SMALL)
    with pytest.raises(SealedError, match="comment of line"):
        seal_text(opened.text.replace("# old", "# new"), [ADMIN_PUBLIC], NOW, opened)


def test_what_another_rule_encrypted_is_refused_and_not_destroyed() -> None:
    """As `sops encrypt --encrypted-regex '^(data|stringData|annotations)$'` leaves it."""
    sealed = seal_with_rule(SMALL.replace("{name: a}", "\n    name: a\n    annotations:\n        x: hidden"))
    assert values_of(sealed, ADMIN)["user"] == b"shop"
    with pytest.raises(SealedError, match=r"metadata\.annotations\.x") as refused:
        open_text(sealed, ADMIN)
    assert refused.value.reason is SealedReason.UNSUPPORTED
    assert values_of(rewrap_text(sealed, [ADMIN_PUBLIC, HOST_PUBLIC], ADMIN), HOST)["user"] == b"shop"


def seal_with_rule(text: str) -> str:
    """Encrypted with another rule, which encrypts the annotation x as well. The MAC is over the values, so it stays."""
    sealed = seal_text(text, [ADMIN_PUBLIC], NOW)
    key = unwrap(read_metadata(read_body(sealed)), ADMIN)
    hidden = seal_value(Plain(b"hidden"), key, "metadata:annotations:x:", bytes(NONCE_BYTES))
    rule = "^(data|stringData|annotations)$"
    return sealed.replace("x: hidden", f"x: {hidden}").replace("^(data|stringData)$", rule)


def test_what_cannot_be_edited_in_place_is_refused_with_the_cause() -> None:
    for text in (
        golden("documents"),
        "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: b}\n",
        "- a\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  a:\n",
        small_file(),
    ):
        with pytest.raises(SealedError):
            seal_text(text, [ADMIN_PUBLIC], NOW)
