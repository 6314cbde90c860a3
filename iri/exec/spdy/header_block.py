"""Headers of SPDY frames: names and values with their lengths, compressed with zlib and a dictionary of the protocol.

One compressor works for all headers that one side sends on a connection, so a block can only be read after all blocks before
it, also those of streams that are refused. A mistake in one block therefore ends the connection.

What a client may make us unpack is limited (BLOCK_LIMIT_BYTES), because a few bytes can unpack to megabytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

from iri.exec.channels import ProtocolError

BLOCK_LIMIT_BYTES = 16 * 1024

# The dictionary of SPDY/3: words, each after its length, and then text without lengths. The specification fixes every byte.
WORDS = """
    options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
    authorization cache-control connection content-base content-encoding content-language content-length
    content-location content-md5 content-range content-type date etag expect expires from host if-match
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie
    keep-alive origin
"""
TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _text(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


DICTIONARY = b"".join(_text(word.replace("_", " ").encode()) for word in WORDS.split()) + TEXT.encode()


class HeaderCompressor:
    """All blocks that one side sends, in their order."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=DICTIONARY)

    def compress(self, headers: Mapping[str, str]) -> bytes:
        """Each block is flushed, so that its reader need not wait for the next one."""
        block = struct.pack(">I", len(headers))
        for name, value in headers.items():
            block += _text(name.lower().encode("latin-1")) + _text(value.encode("latin-1"))
        return self._zlib.compress(block) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderDecompressor:
    """All blocks that one side receives, in their order."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def decompress(self, block: bytes) -> dict[str, str]:
        """Raises ProtocolError, after which no other block can be read."""
        try:
            plain = self._zlib.decompress(block, BLOCK_LIMIT_BYTES + 1)
        except zlib.error:
            raise ProtocolError("headers that zlib cannot read") from None
        if len(plain) > BLOCK_LIMIT_BYTES or self._zlib.unconsumed_tail:
            raise ProtocolError(f"headers of more than {BLOCK_LIMIT_BYTES} bytes")
        if self._zlib.eof:
            raise ProtocolError("headers that end the compression of the connection")
        return parse_headers(plain)


def parse_headers(plain: bytes) -> dict[str, str]:
    """Names in small letters. A ProtocolError for lengths that do not fit, and for a name that occurs twice."""
    if len(plain) < 4:
        raise ProtocolError("headers without their number")
    texts: list[str] = []
    (count,), offset = struct.unpack_from(">I", plain), 4
    while offset < len(plain):
        if offset + 4 > len(plain):
            raise ProtocolError("headers that are cut off")
        (size,) = struct.unpack_from(">I", plain, offset)
        offset += 4 + size
        if offset > len(plain):
            raise ProtocolError("headers that are cut off")
        texts.append(plain[offset - size : offset].decode("latin-1"))
    names = [name.lower() for name in texts[::2]]
    if len(texts) != 2 * count or len(set(names)) != count:
        raise ProtocolError("headers whose number is wrong, or of which one occurs twice")
    return dict(zip(names, texts[1::2], strict=True))
