"""A wall clock that a test can set for one process, by a library in LD_PRELOAD."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Optional

# only wall clock functions are changed: sleeping and waiting use the monotonic clock, which cannot be set
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    char text[32] = {0};
    const char *path = getenv("DANLU_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    long size = read(file, text, sizeof text - 1);
    close(file);
    return size > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, id, now);
    if (!failed && id == CLOCK_REALTIME) now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *stored) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (stored) *stored = exact.tv_sec;
    return exact.tv_sec;
}
"""


class SettableClock:
    """A clock for processes that are started with the variables `env`."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._file = folder / "clock-offset"
        self.set(0)
        self.env = {"LD_PRELOAD": str(library), "DANLU_TEST_CLOCK": str(self._file)}

    def set(self, seconds: int) -> None:
        """Set the difference from the true clock."""
        self._file.write_text(str(seconds))


def make_clock(folder: Path) -> Optional[SettableClock]:
    """Return a clock; None without a C compiler, which it needs."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, library = folder / "clock.c", folder / "clock.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    return SettableClock(folder, library)
