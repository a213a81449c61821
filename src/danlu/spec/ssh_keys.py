"""Public SSH keys as users paste them: one line in OpenSSH's format."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from typing import NamedTuple

KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
MIN_RSA_BITS = 2048
MAX_CHARS = 4000


class PublicKey(NamedTuple):
    kind: str
    blob: bytes
    comment: str

    @property
    def id(self) -> str:
        return hashlib.sha256(self.blob).hexdigest()

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.id)


def parse_public_key(text: str) -> PublicKey:
    """Read `ssh-ed25519 AAAA... comment`. Raise ValueError."""
    if "PRIVATE KEY" in text:
        raise ValueError(
            "expected the public key (the file that ends in .pub), got a private key; keep that to yourself"
        )
    parts = text.strip().split(None, 2)
    if len(text) > MAX_CHARS or "\n" in text.strip() or len(parts) < 2 or parts[0] not in KINDS:
        raise ValueError(f"expected one line of a .pub file, such as `ssh-ed25519 AAAA...`, got {text[:40]!r}")
    try:
        blob = base64.b64decode(parts[1], validate=True)
        fields = _fields(blob)
    except (binascii.Error, struct.error, ValueError) as error:
        raise ValueError("the key is damaged: copy the whole line of the .pub file") from error
    if not fields or fields[0] != parts[0].encode():
        raise ValueError("the key is damaged: copy the whole line of the .pub file")
    if parts[0] == "ssh-rsa":
        bits = int.from_bytes(fields[2], "big").bit_length() if len(fields) == 3 else 0
        if bits < MIN_RSA_BITS:
            raise ValueError(f"expected an RSA key of at least {MIN_RSA_BITS} bits, got {bits}; use ssh-ed25519")
    return PublicKey(parts[0], blob, parts[2] if len(parts) == 3 else "")


def fingerprint_of(key_id: str) -> str:
    """Fingerprint of a key, as `ssh-keygen -l` shows it."""
    return "SHA256:" + base64.b64encode(bytes.fromhex(key_id)).decode().rstrip("=")


def id_of_fingerprint(fingerprint: str) -> str:
    """The id of the key with this fingerprint."""
    return base64.b64decode(fingerprint.removeprefix("SHA256:") + "=").hex()


def _fields(blob: bytes) -> list[bytes]:
    """The strings that a key is made of."""
    fields, at = [], 0
    while at < len(blob):
        (length,) = struct.unpack_from(">I", blob, at)
        if at + 4 + length > len(blob):
            raise ValueError("too short")
        fields.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    return fields
