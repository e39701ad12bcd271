"""What makes the clients of each language trust the certificate, beside all that they trust."""

from __future__ import annotations

import os
import re
import shlex
import ssl
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.utils import CryptographyDeprecationWarning

from openmirror.emulator.certificate import JAVA_PASSWORD

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)
_BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file of all trusted certificates; the first is read by OpenSSL (Python,
.NET on Linux) and Go."""
_JAVA = "JAVA_TOOL_OPTIONS"


@dataclass(frozen=True)
class Trust:
    """The files, and what names them to clients."""

    certificate: Path
    """Ours alone, in PEM."""
    bundle: Path
    """The authorities of this machine and ours, in PEM."""
    java: Path
    """The same, for Java."""

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables for a process that has these already."""
        given = {name: str(self.bundle) for name in _BUNDLES}
        given["NODE_EXTRA_CA_CERTS"] = str(self.certificate)
        given[_JAVA] = f"{env.get(_JAVA, '')} {self.java_options}".strip()
        return given

    @property
    def java_options(self) -> str:
        """What JAVA_TOOL_OPTIONS needs; Java splits it at spaces, unless they are quoted."""
        options = {"trustStore": f'"{self.java}"', "trustStorePassword": JAVA_PASSWORD}
        return " ".join(f"-Djavax.net.ssl.{name}={value}" for name, value in options.items())

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each language, a line for the shell."""
        bundle = shlex.quote(str(self.bundle))
        return [
            ("Python", f"export SSL_CERT_FILE={bundle} REQUESTS_CA_BUNDLE={bundle}"),
            ("Node", f"export NODE_EXTRA_CA_CERTS={shlex.quote(str(self.certificate))}"),
            ("JVM", f"export JAVA_TOOL_OPTIONS={shlex.quote(self.java_options)}"),
            (".NET, Go", f"export SSL_CERT_FILE={bundle}"),
            ("curl", f"export CURL_CA_BUNDLE={bundle}"),
        ]


def trust(certificate: Path, env: Mapping[str, str]) -> Trust:
    """Write the files beside the certificate."""
    own = certificate.read_bytes()
    others = [pem for pem in _PEM.findall(_authorities(env)) if pem.strip() != own.strip()]
    bundle, java = (
        certificate.with_name("onelake-all.pem"),
        certificate.with_name("onelake-all.p12"),
    )
    bundle.write_bytes(b"".join([own, *others]))
    java.write_bytes(
        serialize_java_truststore(
            [PKCS12Certificate(_read(own), b"openmirror"), *_named(others)],
            BestAvailableEncryption(JAVA_PASSWORD.encode()),
        )
    )
    return Trust(certificate, bundle, java)


def _authorities(env: Mapping[str, str]) -> bytes:
    """The file that clients would read without ours; empty where there is none."""
    candidates = [*(env.get(name) for name in _BUNDLES), ssl.get_default_verify_paths().cafile]
    for name in (*candidates, "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/cert.pem"):
        if name and Path(name).is_file() and os.access(name, os.R_OK):
            return Path(name).read_bytes()
    return b""


def _named(pems: list[bytes]) -> list[PKCS12Certificate]:
    found = []
    with warnings.catch_warnings():
        # Authorities of this machine may be older than the rules that certificates follow now.
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        for number, pem in enumerate(pems):
            with suppress(ValueError):  # one that cannot be read keeps no other away
                found.append(PKCS12Certificate(_read(pem), f"authority-{number}".encode()))
    return found


def _read(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)
