"""Unpacks an archive of an image, in a process whose root folder is the one that the files go to.

So nothing in an archive leads out of it: neither `..`, nor a link, nor a name that passes through a link of an earlier
layer. Links mean what they mean inside of the image. Who is not root does this in a user namespace of his own, and owns
all files. Devices, pipes and the bits that give a program other rights are left out.
"""

from __future__ import annotations

import bz2  # noqa: F401 - what tarfile would load when it meets such an archive, and cannot find by then
import contextlib
import lzma
import os
import resource
import select
import shutil
import signal
import stat
import tarfile
import zlib
from typing import NoReturn

from danlu.node.supervise import linux

PIECE_BYTES = 1 << 20
STALL_SECONDS = 60.0
"""How long an image may give nothing while it is unpacked."""

SHARE_OF_ROOM = 0.9
"""Of what is free on the disk, what one image may take."""

MAX_MEMORY_BYTES = 1 << 30
"""Of the process that reads the archive: the fields of a file may be as long as its maker likes."""

HEADER_BYTES = 512
_REMOVED, _EMPTIED = ".wh.", ".wh..wh..opq"
"""How a layer says that a file of an earlier one is gone, and that a folder hides what earlier ones have in it."""


class NotUnpacked(Exception):
    """The archive is broken, or has something that cannot be."""


class TooLarge(Exception):
    """More than there is room for."""


def unpack(source: int, target: str, *, max_bytes: int, stall_seconds: float = STALL_SECONDS) -> None:
    """Unpack an archive, compressed or not, over what the folder has. Raise NotUnpacked, TooLarge or TimeoutError."""
    archive, feed = os.pipe2(os.O_CLOEXEC)
    said, say = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(feed)
        _become_unpacker(archive, say, target=target, max_bytes=max_bytes)
    os.close(archive)
    os.close(say)
    try:
        with contextlib.suppress(BrokenPipeError):  # it has given up, and says why
            copy(source, feed, max_bytes=max_bytes, stall_seconds=stall_seconds)
        os.close(feed)
        feed = -1
        with os.fdopen(said, closefd=False) as file:
            kind, _, problem = file.read().partition("\n")
    finally:
        if feed >= 0:
            os.kill(child, signal.SIGKILL)
            os.close(feed)
        os.close(said)
        os.waitpid(child, 0)
    if kind == TooLarge.__name__:
        raise TooLarge(problem)
    if kind != "done":
        raise NotUnpacked(problem or "the process that unpacks it ended")


def copy(source: int, target: int, *, max_bytes: int, stall_seconds: float = STALL_SECONDS) -> None:
    """Copy until the end. Raise TimeoutError when nothing comes for a while, TooLarge when it is more than this.

    An image can make its tool wait forever: podman reads /etc/group of it, which may be a pipe. And a few bytes in a
    registry can become any number of them on the disk.
    """
    num_bytes = 0
    while True:
        if not select.select([source], [], [], stall_seconds)[0]:
            raise TimeoutError(f"nothing more of its files came within {stall_seconds:.0f} s")
        piece = os.read(source, PIECE_BYTES)
        if not piece:
            return
        num_bytes += len(piece)
        if num_bytes > max_bytes:
            raise TooLarge(_too_large(max_bytes))
        while piece:
            piece = piece[os.write(target, piece) :]


def room_bytes(folder: str) -> int:
    """How much an image may take there."""
    found = os.statvfs(folder)
    return int(found.f_bavail * found.f_frsize * SHARE_OF_ROOM)


def _too_large(max_bytes: int) -> str:
    return f"it has more than {max_bytes / 2**20:.0f} MiB, and that is what there is room for"


def _become_unpacker(archive: int, say: int, *, target: str, max_bytes: int) -> NoReturn:
    """Turn this forked process into one that sees nothing but the target, and unpack."""
    told = "failed\n"
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        if os.geteuid() != 0:
            linux.enter_own_user_namespace()
        os.chroot(target)
        os.chdir("/")
        os.umask(0)
        with os.fdopen(archive, "rb") as file, tarfile.open(fileobj=file, mode="r|*") as opened:
            files = _Files(opened, max_bytes)
            for member in opened:
                files.add(member)
            while file.read(PIECE_BYTES):
                pass  # whatever fills up the last block
        told = "done\n"
    except TooLarge as error:
        told = f"{TooLarge.__name__}\n{error}"
    except (OSError, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, MemoryError) as error:
        told = f"failed\n{error}"
    finally:  # nothing may go on here as a second one
        os.write(say, told.encode("utf-8", "backslashreplace")[:2000])
        os._exit(0)


class _Files:
    """The files of one archive, as they are added to what there is."""

    def __init__(self, archive: tarfile.TarFile, max_bytes: int) -> None:
        self._archive = archive
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._is_root = os.geteuid() == 0
        self._added: set[str] = set()
        """Paths that this archive has brought, and the folders above them."""

    def add(self, member: tarfile.TarInfo) -> None:
        self._num_bytes += HEADER_BYTES + member.size
        if self._num_bytes > self._max_bytes:
            raise TooLarge(_too_large(self._max_bytes))
        path = _normal(member.name)
        folder, name = os.path.split(path)
        if name == _EMPTIED:
            self._empty(folder)
        elif name.startswith(_REMOVED):
            _remove(os.path.join(folder, name[len(_REMOVED) :]))
        elif name and (member.isdir() or member.isreg() or member.issym() or member.islnk()):
            os.makedirs(folder or ".", mode=0o755, exist_ok=True)
            self._write(member, path)
            while path and path not in self._added:
                self._added.add(path)
                path = os.path.dirname(path)

    def _write(self, member: tarfile.TarInfo, path: str) -> None:
        if not (member.isdir() and _is_folder(path)):
            _remove(path)
        if member.islnk():
            os.link(_normal(member.linkname), path, follow_symlinks=False)
            return
        if member.issym():
            os.symlink(member.linkname, path)
        elif member.isdir():
            os.makedirs(path, exist_ok=True)
        else:
            self._write_file(member, path)
        if self._is_root:
            os.chown(path, member.uid, member.gid, follow_symlinks=False)
        if not member.issym():
            os.chmod(path, (member.mode & 0o1777) | (0o700 if member.isdir() else 0o400))
            if member.isreg():
                os.utime(path, (member.mtime, member.mtime))  # compiled Python names the time of its source

    def _write_file(self, member: tarfile.TarInfo, path: str) -> None:
        data = self._archive.extractfile(member)
        assert data is not None
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            shutil.copyfileobj(data, file, PIECE_BYTES)

    def _empty(self, folder: str) -> None:
        """Remove what earlier layers have in a folder."""
        for name in os.listdir(folder or ".") if _is_folder(folder or ".") else ():
            path = os.path.join(folder, name)
            if path not in self._added:
                _remove(path)


def _normal(name: str) -> str:
    """A path from the root of the image, empty for the root itself."""
    return os.path.normpath(f"/{name}").strip("/")


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _remove(path: str) -> None:
    if not path:
        return
    if _is_folder(path):
        shutil.rmtree(path)
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)
