"""Files taken apart and put together, by the reader's own judgement of what is in them."""

import pytest

from reconciler.write.pieces import joined, piece, without
from schemas.reader import read

THREE = b"# first\na: 1\n---\n# second\nb: 2\n---\nc: 3\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_piece_is_that_document(index: int, eol: bytes) -> None:
    data = THREE.replace(b"\n", eol)
    assert read(piece(data, index).decode()) == (read(data.decode())[index],)  # type: ignore[index]
    rest = without(data, [index])
    assert rest is not None
    assert read(rest.decode()) == tuple(each for at, each in enumerate(read(data.decode())) if at != index)  # type: ignore[arg-type]


def test_nothing_is_left_when_all_go() -> None:
    assert without(THREE, [0, 1, 2]) is None


def test_a_document_without_a_final_line_end_does_not_run_into_the_next() -> None:
    assert joined([piece(b"a: 1", 0), piece(THREE, 2)]) == b"a: 1\n---\nc: 3\n"
