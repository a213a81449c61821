"""The protocol between client and agent of danlu-rsh.

Both know the attempt's token and prove it to each other with a digest of fresh random bytes. The token itself is never
sent, and no command is accepted before the proof. Then frames go both ways: a letter, the length in 4 bytes, the bytes.

    client -> agent     C command (JSON)   I input   E end of input   S signal number
    agent -> client     O output           R errors  X exit code (128 + n: signal n)
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct

GREETING = b"danlu-rsh 1\n"
HANDSHAKE_SECONDS = 20.0
CHUNK = 1 << 16


class Stranger(Exception):
    """The other side does not know the token."""


def prove_to_agent(connection: socket.socket, token: bytes) -> None:
    nonce = _receive(connection, len(GREETING) + 32)
    if not nonce.startswith(GREETING):
        raise Stranger("something else listens there")
    theirs, ours = nonce[len(GREETING) :], os.urandom(32)
    connection.sendall(ours + _digest(token, b"client", theirs + ours))
    if not hmac.compare_digest(_receive(connection, 32), _digest(token, b"agent", ours + theirs)):
        raise Stranger("it does not know the token of this attempt")


def prove_to_client(connection: socket.socket, token: bytes) -> None:
    ours = os.urandom(32)
    connection.sendall(GREETING + ours)
    answer = _receive(connection, 64)
    theirs = answer[:32]
    if not hmac.compare_digest(answer[32:], _digest(token, b"client", ours + theirs)):
        raise Stranger
    connection.sendall(_digest(token, b"agent", theirs + ours))


def _digest(token: bytes, side: bytes, nonces: bytes) -> bytes:
    return hmac.new(token, side + nonces, hashlib.sha256).digest()


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body)) + body


def frames(received: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Split off the complete frames; return them and the rest."""
    frames = []
    while len(received) >= 5:
        end = 5 + struct.unpack_from("!I", received, 1)[0]
        if len(received) < end:
            break
        frames.append((received[:1], received[5:end]))
        received = received[end:]
    return frames, received


def receive_frame(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _receive(connection, 5)
    return head[:1], _receive(connection, struct.unpack_from("!I", head, 1)[0])


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        piece = connection.recv(min(CHUNK, size - len(received)))
        if not piece:
            raise Stranger("it hung up")
        received += piece
    return received
