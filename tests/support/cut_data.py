"""Bytes of many kinds, to be cut into chunks."""

from __future__ import annotations

import functools
import random
import struct


def weights(count: int, seed: int) -> bytes:
    """Numbers as they are in checkpoints."""
    chance = random.Random(seed)
    return struct.pack(f"<{count}f", *(chance.gauss(0, 0.02) for _ in range(count)))


@functools.cache
def made(kind: str) -> bytes:
    if kind == "random":
        return random.Random(1).randbytes(12 << 20)
    if kind == "weights":
        return weights(2 << 20, 2)
    if kind in ALPHABETS:  # without a line feed, and of ever fewer different bytes
        return made("random").translate(bytes(ALPHABETS[kind][byte % len(ALPHABETS[kind])] for byte in range(256)))
    return b"".join(b'{"id": %d, "text": "%x"}\n' % (number, number * 7919) for number in range(300_000))


ALPHABETS = {
    "no line feeds": bytes(byte for byte in range(256) if byte != 10),
    "base64": b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "hexadecimal": b"0123456789abcdef",
    "genes": b"ACGT",
    "two values": b"\xc8\xc9",
}
KINDS = ("random", "weights", "lines", *ALPHABETS)
