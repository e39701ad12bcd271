"""A certificate that the endpoint makes for itself, since clients send tokens over https only."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=825)
"""The longest that systems accept of a certificate that a user made them trust."""
_LEFT = timedelta(days=30)
JAVA_PASSWORD = "changeit"
"""Of the trust store, which holds nothing secret; Java will not read one without a password."""
_STORES = {"certificate": "truststore"}
"""Names of trust stores that are not called like their certificate."""
_HERE = ("localhost", "*.localhost", "127.0.0.1", "::1")


def certificate(
    folder: Path, hosts: Iterable[str], *, name: str = "certificate", is_authority: bool = True
) -> tuple[Path, Path]:
    """The certificate for this machine's names and these hosts, and its key; kept in a folder.

    One that is no authority vouches for its own names and nothing else, so that whoever trusts it
    and loses its key has lost no more. Made anew when it ends within a month, or lacks a host.
    Clients must be made to trust it; Java's find it in a trust store beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    store = java_trust_store(made)
    wanted = [_name(host) for host in dict.fromkeys((*_HERE, *hosts))]
    if not (key.exists() and _is_good(made, wanted)):
        store.unlink(missing_ok=True)
        _make(made, key, wanted, is_authority=is_authority)
    if not store.exists():
        _make_trust_store(made, store)
    return made, key


def java_trust_store(made: Path) -> Path:
    """Where the trust store of a certificate lies."""
    return made.with_name(f"{_STORES.get(made.stem, made.stem)}.p12")


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _is_good(made: Path, wanted: list[x509.GeneralName]) -> bool:
    try:
        old = x509.load_pem_x509_certificate(made.read_bytes())
        names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    return old.not_valid_after_utc - datetime.now(UTC) > _LEFT and set(wanted) <= set(names)


def _make(made: Path, key_file: Path, names: list[x509.GeneralName], *, is_authority: bool) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "openmirror local endpoint")])
    now = datetime.now(UTC)
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certified = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(_constraints(is_authority=is_authority), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(own, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(key_file, secret, 0o600)
    _write(made, certified.public_bytes(serialization.Encoding.PEM), 0o644)


def _constraints(*, is_authority: bool) -> x509.BasicConstraints:
    return x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None)


def _make_trust_store(made: Path, store: Path) -> None:
    own = PKCS12Certificate(x509.load_pem_x509_certificate(made.read_bytes()), b"openmirror")
    protection = serialization.BestAvailableEncryption(JAVA_PASSWORD.encode())
    _write(store, serialize_java_truststore([own], protection), 0o644)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
