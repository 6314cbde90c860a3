"""Certificates in gitvirt.yaml: whatever people list, each is used or refused with a code, and no text of it is quoted. A fault here would stop
the reconciler and every host at once. The input is a certificate as DER, or text."""

from __future__ import annotations

import ssl
import warnings

from schemas.settings.certificate import Certificate, RefusedCertificate, read_certificate
from tests.schemas.settings.certificates import KeyKind, make

KINDS: tuple[KeyKind, ...] = ("p256", "p521", "ed25519", "rsa2048", "dsa")
SEEDS = [
    *(ssl.PEM_cert_to_DER_cert(make("rack-a1", kind, dns="gitvirt-link")[0]) for kind in KINDS),
    make("rack-a1")[0].encode(),
    make("rack-a1")[1].encode(),
    # Of a version that X.509 does not have.
    ssl.PEM_cert_to_DER_cert(make("rack-a1")[0]).replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x2c", 1),
]


def once(data: bytes) -> None:
    for text in (ssl.DER_cert_to_PEM_cert(data), data.decode("utf-8", "replace")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forms that a later version of the library refuses
            found = read_certificate(text)
        assert isinstance(found, Certificate | RefusedCertificate)
        lines = [line for line in text.splitlines() if len(line) > 40]
        assert not any(line in str(found) for line in lines)
