"""Run a command in several tasks of a job in parallel and prefix their output lines, for DeepSpeed's launcher.

    pdsh [-S] [-N] [-f N] -w HOST,HOST COMMAND...

In the command, `%n` is the index of the host in the list, `%h` its name. With -S the exit code is the largest of the
tasks'. Connects through rsh.py in the same folder, and is shipped with the job like that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import NamedTuple

OPTIONS_WITH_VALUE = "wxfltuRMK"
RSH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rsh.py")


class Call(NamedTuple):
    hosts: list[str]
    command: str
    returns_largest: bool
    has_prefix: bool

    def line(self, place: int) -> str:
        """Return the command for one of the hosts."""
        text = self.command.replace("%%", "\0").replace("%n", str(place)).replace("%h", self.hosts[place])
        return text.replace("\0", "%")


def read_call(words: list[str]) -> Call:
    """Parse arguments. Raise ValueError when they are not valid for pdsh."""
    rest, values = list(words), {}
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        letter = option[1]
        if letter in OPTIONS_WITH_VALUE:
            values[letter] = option[2:] or (rest.pop(0) if rest else "")
        else:
            values.update(dict.fromkeys(option[1:], ""))
    hosts = [host for host in values.get("w", "").split(",") if host]
    if not hosts or not rest:
        raise ValueError("expected pdsh -w HOST,HOST COMMAND...")
    return Call(hosts, " ".join(rest), "S" in values, "N" not in values)


def run(call: Call) -> int:
    """Run the command on all hosts and return the exit code."""
    started = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", RSH, "run", host, call.line(place)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for place, host in enumerate(call.hosts)
    ]

    def pass_on(number: int, _frame: object) -> None:
        for one in started:
            one.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    lock = threading.Lock()
    copying = [
        threading.Thread(target=_copy, args=(one, f"{host}: ".encode() if call.has_prefix else b"", lock))
        for one, host in zip(started, call.hosts)
    ]
    for thread in copying:
        thread.start()
    codes = [one.wait() for one in started]
    for thread in copying:
        thread.join()
    return max(code if code >= 0 else 128 - code for code in codes) if call.returns_largest else 0


def _copy(process: subprocess.Popen[bytes], prefix: bytes, lock: threading.Lock) -> None:
    """Copy line by line, so that output of two hosts does not mix within a line."""
    assert process.stdout is not None
    for line in process.stdout:
        with lock:
            sys.stdout.buffer.write(prefix + line)
            sys.stdout.buffer.flush()


def main() -> int:
    try:
        call = read_call(sys.argv[1:])
    except ValueError as error:
        print(f"pdsh: {error}", file=sys.stderr)
        return 1
    return run(call)


if __name__ == "__main__":
    sys.exit(main())
