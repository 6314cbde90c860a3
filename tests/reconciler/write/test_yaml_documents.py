"""Files taken apart and put together, by the reader's own judgement of what is in them."""

import pytest

from reconciler.write.yaml_documents import cut_document, join_documents, remove_documents
from schemas.reader import read

THREE = b"# first\na: 1\n---\n# second\nb: 2\n---\nc: 3\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_piece_is_that_document(index: int, eol: bytes) -> None:
    data = THREE.replace(b"\n", eol)
    assert read(cut_document(data, index).decode()) == (read(data.decode())[index],)  # type: ignore[index]
    rest = remove_documents(data, [index])
    assert rest is not None
    assert read(rest.decode()) == tuple(each for at, each in enumerate(read(data.decode())) if at != index)  # type: ignore[arg-type]


def test_nothing_is_left_when_all_go() -> None:
    assert remove_documents(THREE, [0, 1, 2]) is None


def test_a_document_without_a_final_line_end_does_not_run_into_the_next() -> None:
    assert join_documents([cut_document(b"a: 1", 0), cut_document(THREE, 2)]) == b"a: 1\n---\nc: 3\n"
