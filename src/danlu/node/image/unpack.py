"""Unpack an archive of an image, in a process whose root is the target folder.

So nothing in an archive can write outside of it: not with `..`, not with a symlink, not through a symlink of an earlier
layer. Links resolve inside the image. A process that is not root uses a user namespace, and owns all files. Devices,
pipes and the setuid and setgid bits are dropped.
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
"""How long an image may send no data while it is unpacked."""

SHARE_OF_ROOM = 0.9
"""Share of the free disk space that one image may take."""

MAX_MEMORY_BYTES = 1 << 30
"""Of the process that reads the archive: header fields in an archive can have any length."""

HEADER_BYTES = 512
_REMOVED, _EMPTIED = ".wh.", ".wh..wh..opq"
"""Whiteouts: a layer's marks that a file of earlier layers is deleted, or that a folder hides their content."""


class NotUnpacked(Exception):
    """The archive is broken, or contains something unsupported."""


class TooLarge(Exception):
    """The image needs more than the space available."""


def unpack(source: int, target: str, *, max_bytes: int, stall_seconds: float = STALL_SECONDS) -> None:
    """Unpack an archive, compressed or not, on top of the folder's content. Raise NotUnpacked, TooLarge or
    TimeoutError."""
    archive, feed = os.pipe2(os.O_CLOEXEC)
    said, say = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(feed)
        _become_unpacker(archive, say, target=target, max_bytes=max_bytes)
    os.close(archive)
    os.close(say)
    try:
        with contextlib.suppress(BrokenPipeError):  # the child has given up, and reports why
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
    """Copy until the end. Raise TimeoutError after a silence, TooLarge above the limit.

    An image can make its tool block forever: podman reads the image's /etc/group, which may be a pipe. And a few bytes
    in a registry can unpack to any size.
    """
    num_bytes = 0
    while True:
        if not select.select([source], [], [], stall_seconds)[0]:
            raise TimeoutError(f"no more of its files arrived within {stall_seconds:.0f} s")
        piece = os.read(source, PIECE_BYTES)
        if not piece:
            return
        num_bytes += len(piece)
        if num_bytes > max_bytes:
            raise TooLarge(_too_large(max_bytes))
        while piece:
            piece = piece[os.write(target, piece) :]


def room_bytes(folder: str) -> int:
    """How much disk space an image may take there."""
    found = os.statvfs(folder)
    return int(found.f_bavail * found.f_frsize * SHARE_OF_ROOM)


def _too_large(max_bytes: int) -> str:
    return f"it has more than {max_bytes / 2**20:.0f} MiB, and that is what there is room for"


def _become_unpacker(archive: int, say: int, *, target: str, max_bytes: int) -> NoReturn:
    """In the forked child: restrict this process to the target folder, and unpack."""
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
                pass  # read the padding of the last block
        told = "done\n"
    except TooLarge as error:
        told = f"{TooLarge.__name__}\n{error}"
    except (OSError, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, MemoryError) as error:
        told = f"failed\n{error}"
    finally:  # this forked process must not continue as the parent
        os.write(say, told.encode("utf-8", "backslashreplace")[:2000])
        os._exit(0)


class _Files:
    """Writes the files of one archive over the existing ones."""

    def __init__(self, archive: tarfile.TarFile, max_bytes: int) -> None:
        self._archive = archive
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._is_root = os.geteuid() == 0
        self._added: set[str] = set()
        """Paths that this archive has written, and their parent folders."""

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
                os.utime(path, (member.mtime, member.mtime))  # compiled Python files record the mtime of their source

    def _write_file(self, member: tarfile.TarInfo, path: str) -> None:
        data = self._archive.extractfile(member)
        assert data is not None
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            shutil.copyfileobj(data, file, PIECE_BYTES)

    def _empty(self, folder: str) -> None:
        """Remove the content that earlier layers have in a folder."""
        for name in os.listdir(folder or ".") if _is_folder(folder or ".") else ():
            path = os.path.join(folder, name)
            if path not in self._added:
                _remove(path)


def _normal(name: str) -> str:
    """Return a path relative to the root of the image; empty for the root itself."""
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
