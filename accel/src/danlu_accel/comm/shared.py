"""Memory and a barrier for the ranks of one host, with nothing to clean up.

The memory has no name: one rank creates it and passes its file descriptor to the others over a Unix socket, so it is
freed when the last of them ends, in whatever way. The same sockets implement the barrier, and their end-of-file shows
at once that a rank has died.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import socket
import struct
import weakref
from typing import NoReturn

import torch

from danlu_accel.comm.errors import CommError, PeerLostError, SharedMemoryError, TopologyError
from danlu_accel.comm.settings import MIB

HELLO = struct.Struct("<i16s")  # local index of the connecting rank, and the token
TICK = b"\0"  # one arrival at the barrier
CONNECT_SECONDS = 60.0  # the ranks have just met in a collective, so they answer at once or never
HELLO_SECONDS = 5.0
LAST_WORDS = b"\xff"  # the reason why this rank fails follows


_open_groups: weakref.WeakSet[LocalGroup] = weakref.WeakSet()


class Listener:
    """A Unix socket in the abstract namespace: it needs no file and ends with the process.

    Every user of the machine can read its name, so a caller must also know the token; `address` holds both.
    """

    def __init__(self) -> None:
        self.name = f"danlu-accel-{secrets.token_hex(8)}"
        self.token = secrets.token_bytes(16)
        self.address = f"{self.name} {self.token.hex()}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind("\0" + self.name)
        self.socket.listen(128)

    def close(self) -> None:
        self.socket.close()


class LocalGroup:
    """The ranks of one host, fully connected. `ranks` are their global ranks by local index."""

    def __init__(self, index: int, ranks: tuple[int, ...], peers: dict[int, socket.socket]) -> None:
        self.index = index
        self.ranks = ranks
        self._peers = peers
        self._arrivals = dict.fromkeys(peers, 0)
        self._round = 0
        _open_groups.add(self)

    def barrier(self) -> None:
        """Wait until every rank of this host has called it as often. Raises PeerLostError if one fails."""
        self._round += 1
        for index, peer in self._peers.items():
            try:
                peer.send(TICK)
            except OSError:
                self._hear_last_words(index, b"")
        for index in self._peers:
            while self._arrivals[index] < self._round:
                self._arrivals[index] += self._hear(index)

    def give_up(self, reason: str) -> None:
        """Tell the other ranks of this host why this one fails, and disconnect."""
        for peer in self._peers.values():
            try:
                peer.sendall(LAST_WORDS + reason.encode()[:4000])
            except OSError:
                continue  # already disconnected
            finally:
                peer.close()

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()

    def share(self, num_bytes: int, folder: str | None) -> torch.Tensor:
        """Return the same `num_bytes` of zeroed memory on every rank of this host."""
        if not self._peers:
            return torch.zeros(num_bytes, dtype=torch.uint8)
        descriptor = self._offer(num_bytes, folder) if self.index == 0 else self._accept()
        try:
            memory = mmap.mmap(descriptor, num_bytes)
        finally:
            os.close(descriptor)
        return torch.frombuffer(memory, dtype=torch.uint8)

    def _offer(self, num_bytes: int, folder: str | None) -> int:
        try:
            descriptor = reserve(num_bytes, folder)
        except SharedMemoryError as error:
            self.give_up(str(error))
            raise
        for peer in self._peers.values():
            socket.send_fds(peer, [TICK], [descriptor])
        return descriptor

    def _accept(self) -> int:
        said, descriptors, _, _ = socket.recv_fds(self._peers[0], 1, 1)
        if said == TICK and descriptors:
            return descriptors[0]
        reason = self._rest(0).decode(errors="replace") if said == LAST_WORDS else "it closed the connection"
        raise SharedMemoryError(f"rank {self.ranks[0]} could not share memory: {reason}")

    def _hear(self, index: int) -> int:
        try:
            said = self._peers[index].recv(4096)
        except socket.timeout as error:
            raise PeerLostError(
                f"rank {self.ranks[index]} on this host said nothing for {self._peers[index].gettimeout():g} s; "
                "it hangs, or its backward pass differs from the others'"
            ) from error
        except OSError:
            said = b""
        if not said or LAST_WORDS in said:
            self._hear_last_words(index, said)
        return len(said)

    def _hear_last_words(self, index: int, said: bytes) -> NoReturn:
        _, gave_up, reason = (said + self._rest(index)).partition(LAST_WORDS)
        if gave_up:
            raise PeerLostError(f"rank {self.ranks[index]} on this host gave up: {reason.decode(errors='replace')}")
        raise PeerLostError(f"rank {self.ranks[index]} on this host died")

    def _rest(self, index: int) -> bytes:
        heard = b""
        try:
            while chunk := self._peers[index].recv(4096):
                heard += chunk
        except OSError:
            pass  # a reset connection has no more data
        return heard


def connect(listener: Listener, addresses: list[str], ranks: tuple[int, ...], index: int, timeout: float) -> LocalGroup:
    """Connect to the other ranks of this host; `addresses` are the addresses of their listeners by local index."""
    peers: dict[int, socket.socket] = {}
    listener.socket.settimeout(min(timeout, CONNECT_SECONDS))
    try:
        for other in range(index):
            peers[other] = _call(addresses[other], index, timeout)
        while len(peers) < len(ranks) - 1:
            peer, _ = listener.socket.accept()
            caller = _greeted(peer, listener.token)
            if caller is None:
                peer.close()
                continue
            peer.settimeout(timeout)
            peers[caller] = peer
    except OSError as error:
        raise TopologyError(
            f"rank {ranks[index]} cannot reach the other ranks of its host {ranks} ({error}); "
            "they do not share a network namespace: do not set local_size or host_key, or use algorithm='flat'"
        ) from error
    return LocalGroup(index, ranks, dict(sorted(peers.items())))


def reserve(num_bytes: int, folder: str | None) -> int:
    """Return a descriptor of `num_bytes` of unnamed memory.

    Allocates the pages now: a file that is only extended causes a bus error at the first write beyond the limit.
    """
    try:
        if folder is None:
            descriptor = os.memfd_create("danlu-accel")
        else:
            descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        raise SharedMemoryError(f"cannot make shared memory in {folder or 'memory'}: {error}") from error
    try:
        os.posix_fallocate(descriptor, 0, num_bytes)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG):
            raise CommError(f"cannot claim shared memory: {error}") from error
        raise SharedMemoryError(_too_small(num_bytes, folder)) from error
    return descriptor


def _too_small(num_bytes: int, folder: str | None) -> str:
    needed = f"{num_bytes / MIB:.1f} MiB of shared memory are needed"
    if folder is None:
        return f"{needed} and this machine has no room for them; lower Options.piece_bytes or Options.depth"
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize / MIB
    return (
        f"{needed}, {folder} has {free:.1f} MiB left; enlarge it (docker: --shm-size), "
        "leave Options.shared_memory_dir unset, or lower Options.piece_bytes or Options.depth"
    )


def _greeted(peer: socket.socket, token: bytes) -> int | None:
    """Return the local index of the connecting rank, or None if it is not one of ours."""
    peer.settimeout(HELLO_SECONDS)
    try:
        said = peer.recv(HELLO.size, socket.MSG_WAITALL)
    except OSError:
        return None
    if len(said) != HELLO.size:
        return None
    index, known = HELLO.unpack(said)
    return int(index) if known == token else None


def _call(address: str, index: int, timeout: float) -> socket.socket:
    name, token = address.split()
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(timeout)
    peer.connect("\0" + name)
    peer.sendall(HELLO.pack(index, bytes.fromhex(token)))
    return peer


def _close_in_child() -> None:
    """Close the sockets in forked data loaders: if they stayed open, the death of the parent would go unnoticed."""
    for group in _open_groups:
        group.close()


os.register_at_fork(after_in_child=_close_in_child)
