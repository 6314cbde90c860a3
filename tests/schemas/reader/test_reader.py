"""Text into values: what YAML 1.2 says, and a finding with its place for everything else."""

from __future__ import annotations

import math

import pytest

from reconciler.cli.codes import CODES
from schemas.reader import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value, numerals, read

BIG = 2**200


def one(text: str) -> Value:
    documents = read(text)
    assert not isinstance(documents, Unreadable), documents
    assert len(documents) == 1
    return documents[0]


def refusal_of(text: str) -> Unreadable:
    found = read(text)
    assert isinstance(found, Unreadable), found
    assert found.code in CODES
    assert found.message
    return found


@pytest.mark.parametrize(
    ("written", "want"),
    [
        # booleans and null: the core schema's words only
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("on", "on"),
        ("On", "On"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("NO", "NO"),
        ("y", "y"),
        ("tRue", "tRue"),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("", None),
        ("''", ""),
        # integers
        ("010", 10),
        ("08", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("+12", 12),
        ("-0", 0),
        (str(BIG), BIG),
        (f"-{BIG}", -BIG),
        (hex(BIG), BIG),
        ("18446744073709551616", 2**64),
        ("9223372036854775808", 2**63),
        ("0o8", "0o8"),
        ("0xG", "0xG"),
        # what some parsers take for numbers
        ("1_000", "1_000"),
        ("_1", "_1"),
        ("1_", "1_"),
        ("-_1", "-_1"),
        ("0b11", "0b11"),
        ("0B11", "0B11"),
        ("0X1F", "0X1F"),
        ("0O17", "0O17"),
        ("+0x1F", "+0x1F"),
        ("-0o17", "-0o17"),
        ("0x_1F", "0x_1F"),
        ("12:30:45", "12:30:45"),
        ("1_0.5", "1_0.5"),
        ("1e1_0", "1e1_0"),
        (".iNf", ".iNf"),
        ("-.InF", "-.InF"),
        (".nAn", ".nAn"),
        # floats
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("+.5", 0.5),
        ("-1.5e-3", -0.0015),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("1e400", math.inf),
        (".e3", ".e3"),
        ("1e", "1e"),
        ("1.2.3", "1.2.3"),
        ("...x", "...x"),
        # times are text
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        # tags
        ("!!str 1", "1"),
        ("!!int '7'", 7),
        ("!!float 1", 1.0),
        ("!!set {b, a}", {"a": None, "b": None}),
        ("!vault x", "x"),
    ],
)
def test_scalars_have_the_values_of_the_core_schema(written: str, want: Value) -> None:
    assert one(f"a: {written}\n") == {"a": want}
    assert type(one(f"- {written}\n")[0]) is type(want)  # type: ignore[index]  # 1 == 1.0 == True


def test_nan_is_a_number() -> None:
    value = one("a: .nan")
    assert isinstance(value, dict)
    assert math.isnan(value["a"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: ENC[AES256_GCM,data:0abc=,type:str]", False),
        ("a: user_1_data", False),
        ("a: x1_000", False),
        ("a: 1_000", True),
        ("1_0: b", True),
        ("[b,-1_0]", True),
        ("a: .5_0", True),
        ("a: _1", True),
    ],
)
def test_only_what_a_parser_may_read_as_a_number_is_masked(text: str, want: bool) -> None:
    """Masking costs more than the rest of reading, and each file of SOPS has `AES256_GCM`."""
    assert numerals.has_underscores(text) is want


@pytest.mark.parametrize(
    "at", ["{}", "[{}]", "{{{}: 1}}", "- {}\n- b", "? {}\n: 1", "a: [b,{}]", '{{"a":{}}}', "--- {}"]
)
def test_a_name_like_a_number_is_text_in_every_place(at: str) -> None:
    assert "1_000" in repr(read(at.format("1_000")))
    assert repr(read(at.format("1_000"))) == repr(read(at.format("x_000"))).replace("x_000", "1_000")


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  1_000 0b11\n  ...\n",
        "a: '1_000 is 0b11'\n",
        'a: "1_000 \\t1_000"\n',
        "a: x # 1_000\n",
        "a: &x_1 1_0\nb: *x_1\n",
        "a: !t_1 x\n",
        "a_1: 1_0 0\n",
        "%TAG !_1! tag:e,2000:\n--- !_1!a 1_0\n...\n--- 2\n",
    ],
)
def test_masking_numbers_changes_nothing_else(text: str) -> None:
    plain = text.replace("1_0", "x_0").replace("0b11", "xb11")
    assert repr(read(text)).replace("1_0", "x_0").replace("0b11", "xb11") == repr(read(plain))


def test_the_mask_uses_characters_that_the_text_lacks() -> None:
    taken = "".join(chr(0xF0000 + at) for at in range(0x800))
    assert one(f"a: {taken}\nb: 1_0") == {"a": taken, "b": "1_0"}
    masked = numerals.mask_numbers("a")
    assert masked is not None
    assert masked.unmask("a") == "a"


@pytest.mark.parametrize(
    ("escape", "want"),
    [
        (r"\udb80\udc00", "\U000f0000"),
        (r"\uDB80\uDC01", "\U000f0001"),
        (r"\U000F0003", "\U000f0003"),
        (r"\U000f000e", "\U000f000e"),
        (r"\\\udb80\udc00", "\\\U000f0000"),
    ],
)
def test_the_mask_uses_characters_that_no_escape_spells(escape: str, want: str) -> None:
    assert one(f'"{escape}": 1_0\nb: "{escape}"') == {want: "1_0", "b": want}


def test_a_text_that_leaves_no_character_for_the_mask_is_refused() -> None:
    every = "".join(chr(code) for code in range(0xF0000, 0x10FF00, 32))
    assert read(f"a: {every}") == ({"a": every},)
    assert refusal_of(f"a: {every}\nb: 1_0").code == "GV105"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", ()),
        ("\n\n", ()),
        ("# only a comment\n", ()),
        ("---\n", (None,)),
        ("---\n...\n", (None,)),
        ("...\n", ()),
        ("---\n---\n", (None, None)),
        ("a", ("a",)),
        ("- a\n- b\n", (["a", "b"],)),
        ("---\n- a\n- b\n", (["a", "b"],)),
        ("[a, b]", (["a", "b"],)),
        ("--- a\n--- b\n", ("a", "b")),
        ("--- [a]\n--- [b]\n", (["a"], ["b"])),
        ("a: 1\n...\nb: 2\n", ({"a": 1}, {"b": 2})),
        ("%YAML 1.2\n---\na: 1\n", ({"a": 1},)),
        ("%YAML 1.1\n---\na: on\n", ({"a": "on"},)),
        ("--- |\n  text\n\n---\nb: 2\n", ("text\n", {"b": 2})),
        ("--- |+\n  text\n\n", ("text\n\n",)),
        (" |\n---\nx:", ("", {"x": None})),
        ("--- >- # c\nb\n---\nx: 1\n---\ny: 2\n", ("b", {"x": 1}, {"y": 2})),
        ("--- |\r\n---\r\n--- !!str |\r\n...\r\na", ("", None, "", "a")),
        ("|\n...\n---\nb", ("", "b")),
        ("|\n---a\n --- b", ("---a\n --- b\n",)),
        ("a:\n |\n---\nb", ({"a": ""}, "b")),
    ],
)
def test_each_document_gives_one_value(text: str, want: tuple[Value, ...]) -> None:
    assert read(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}),
        ('{\n\t"a":\t1\n}\n', {"a": 1}),
        ('{"a":"\\/\\ud83d\\ude00\\u0041\\n"}', {"a": "/😀A\n"}),
        ('{"a":1,"b":{"c":[]}}', {"a": 1, "b": {"c": []}}),
        ("{" + f'"{"k" * 2000}": 1' + "}", {"k" * 2000: 1}),
        (f"{BYTE_ORDER_MARK}[]", []),
        ('"text"', "text"),
    ],
)
def test_json_is_read(text: str, want: Value) -> None:
    assert one(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  x: 3\n", {"x": 3, "y": 2}),
        ("base: &b {x: 1}\nmore: &m {x: 2, z: 3}\nc:\n  <<: [*b, *m]\n", {"x": 1, "z": 3}),
        ("base: &b {x: {deep: 1}}\nc:\n  <<: *b\n  x: {own: 2}\n", {"x": {"own": 2}}),
        ("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n", {"x": 1, "y": 2, "z": 3}),
        ("c: {<<: {x: 1}, y: 2}\n", {"x": 1, "y": 2}),
        ("c: {<<: [], y: 2}\n", {"y": 2}),
        ("c:\n  y: <<\n", {"y": "<<"}),
    ],
)
def test_merge_keys_merge_and_the_own_keys_win(text: str, want: Value) -> None:
    value = one(text)
    assert isinstance(value, dict)
    assert value["c"] == want


def test_an_alias_copies_its_anchor() -> None:
    value = one("a: &x [1, {b: &y 2}]\nc: *x\nd: [*y, *x]\n*y : e\n")
    assert value == {"a": [1, {"b": 2}], "c": [1, {"b": 2}], "d": [2, [1, {"b": 2}]], 2: "e"}


@pytest.mark.parametrize(
    ("text", "code", "place", "quote"),
    [
        ("a: b: c", "GV101", (1, 5), "': '"),
        ("a:\n\tb: c", "GV101", (2, 2), "tab"),
        ("a: [1, 2", "GV101", (1, 4), "never closed"),
        ("a: 1\nb: 'x", "GV101", (2, 4), "quote"),
        ("a: @x", "GV101", (1, 4), "@"),
        ("--- |\n---\nb: 1\nc: @x", "GV101", (4, 4), "@"),
        ("a: `x`", "GV101", (1, 4), "`"),
        ("{% if x %}", "GV101", (1, 2), "%"),
        ("a:\n  b: 1\n c: 2", "GV101", (3, 2), "mapping above"),
        ("- a\nb: c", "GV101", (2, 1), "list"),
        ('a: "\\ud800"', "GV101", (1, 4), "surrogate"),
        ("%YAML 2.0\n---\na: b", "GV101", (1, 1), "YAML 1.2"),
        ("a: 1\n<<<<<<< ours\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n", "GV101", (2, 1), "conflict"),
        # found by fuzzing: the parser raised
        ("a: {{ x: {y} }}", "GV101", (0, 0), "key"),
        ("? {a: [b]}\n: c", "GV101", (0, 0), "key"),
        ("a: 1\nb: 2\na: 3\n", "GV102", (3, 1), "'a'"),
        ("x:\n- {a: 1, b: 2, a: 3}\n", "GV102", (2, 16), "'a'"),
        ("a: {b: 1}\nc:\n  b: 1\n  'b': 2\n", "GV102", (4, 3), "'b'"),
        ('{"a": 1, "a": 2}', "GV102", (1, 10), "'a'"),
        ("<<: {a: 1}\n<<: {b: 1}\n", "GV102", (2, 1), "'<<'"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "GV103", (1, MAX_DEPTH + 1), "nested"),
        ("- " * (MAX_DEPTH + 1) + "x", "GV103", (1, 2 * MAX_DEPTH + 1), "nested"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: *nothing\n", "GV112", (3, 4), "*nothing"),
        ("a: *x\n", "GV101", (1, 4), "alias"),
        ("--- &a x\n--- *a\n", "GV112", (2, 5), "*a"),
        ("a: &a [1, *a]", "GV112", (1, 11), "inside"),
        ("a: &a {b: {c: *a}}", "GV112", (1, 15), "inside"),
        ("&xb:  :-&x <<:*x\n0<<;  ", "GV112", (2, 1), "aliases"),  # found by fuzzing: a line after the last
        ("a: \x00b", "GV105", (1, 4), "U+0000"),
        ("a: 1\r\nb: \x07", "GV105", (2, 4), "U+0007"),
        ("a: 1\rb: \x7f", "GV105", (2, 4), "U+007F"),
        ("a: \x9b", "GV105", (1, 4), "U+009B"),
        ("a: \ud800", "GV105", (1, 4), "U+D800"),
        ("a: 1\n\ufeffb: 2\n", "GV105", (2, 1), "byte order mark"),
        ("a: \uffff", "GV105", (1, 4), "U+FFFF"),
        ("a:\n  <<: 3\n", "GV109", (2, 7), "<<"),
        ("x: &s 1\na:\n  <<: [{q: 1}, *s]\n", "GV109", (3, 16), "<<"),
        (f"a: {'1' * (MAX_DIGITS + 1)}", "GV110", (1, 4), "digits"),
        (f"{'1' * (MAX_DIGITS + 1)}: a", "GV110", (1, 1), "digits"),
        (f"a: 0x{'1' * MAX_DIGITS}", "GV110", (1, 4), "digits"),
        ("a: 1\nb: !!int x", "GV111", (2, 4), "'x'"),
        ("a: !!bool 1\n", "GV111", (1, 4), "!!bool"),
        ("a: 1\nb: !!python/name:os.system x", "GV111", (2, 4), "python"),
        ("a: !!int 1_0", "GV111", (1, 4), "'1_0'"),
    ],
)
def test_each_refusal_has_its_line_and_column(
    text: str, code: str, place: tuple[int, int], quote: str
) -> None:
    found = refusal_of(text)
    assert (found.code, (found.line, found.column)) == (code, place)
    assert quote in found.message


def test_every_refusal_has_a_cure() -> None:
    for text in (
        "a: b: c",
        "a: [",
        "a: *x",
        "a: \x00",
        "a: 1\na: 2",
        "a: !!int x",
        "{a: b}}",
        "\ta:\n\t- b: c: d",
    ):
        assert refusal_of(text).hint


def test_no_message_contains_control_characters() -> None:
    for text in (f"a: *x\u202e{'y' * 5000}\n&z b: c\n", "a: !!x\u2028y 1\n", '"\\e[2J": 1\n"\\e[2J": 2\n'):
        found = refusal_of(text)
        assert found.message.isprintable()
        assert found.hint.isprintable()
        assert len(found.message) <= 300


def test_many_digits_in_quotes_are_text() -> None:
    digits = "1" * (MAX_DIGITS + 1)
    assert one(f"a: '{digits}'\nb: |\n  {digits}\n") == {"a": digits, "b": f"{digits}\n"}
    assert one(f"a: {'1' * MAX_DIGITS}") == {"a": int("1" * MAX_DIGITS)}


def test_nesting_up_to_the_bound_is_read() -> None:
    for text in (
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
        "- " * MAX_DEPTH + "x",
        "".join(f"{' ' * at}a:\n" for at in range(MAX_DEPTH)),
    ):
        assert one(text) is not None


def test_wide_text_is_not_deep() -> None:
    picture = "\n".join(f"{' ' * (at % 150)}*" for at in range(900))
    value = one("a: |2\n" + "\n".join(f"  {line}" for line in picture.splitlines()) + "\n")
    assert value == {"a": picture + "\n"}
    assert one(f"a: |\n  {'-' * 300}\n  {'- ' * 100}x\n") == {"a": f"{'-' * 300}\n{'- ' * 100}x\n"}


def test_a_leading_byte_order_mark_is_ignored() -> None:
    assert one(f"{BYTE_ORDER_MARK}a: 1") == {"a": 1}
    assert refusal_of(f"{BYTE_ORDER_MARK}a: b: c").column == 5


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ending_is_read(end: str) -> None:
    assert one(f"a: 1{end}b:{end}  - x{end}  - y{end}") == {"a": 1, "b": ["x", "y"]}
    found = refusal_of(f"a: 1{end}b: c: d{end}")
    assert (found.line, found.column) == (2, 5)


def test_separators_of_yaml_1_1_do_not_end_lines() -> None:
    assert one("a: x\u2028y\x85z\u2029") == {"a": "x\u2028y\x85z\u2029"}
    found = refusal_of("a: x\u2028y\x85\nb: 1\nb: 2")
    assert (found.line, found.column) == (3, 1)
