"""A command at a terminal, with somebody who types: for commands that ask for a password, or open a shell."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from danlu.testing.waiting import HANG_SECONDS

Answers = Mapping[str, str]
"""Pattern of what stands at the end of the output -> what is typed then."""


def run_at_terminal(
    words: Sequence[str], answers: Answers, *, cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, and return all that was shown as `stdout`."""
    screen, line = pty.openpty()
    process = subprocess.Popen(words, cwd=cwd, env=dict(env), preexec_fn=lambda: os.login_tty(line))  # noqa: PLW1509
    os.close(line)
    shown = answered = ""
    try:
        while piece := _read(screen):
            shown += piece
            unanswered = shown[len(answered) :]
            for pattern, answer in answers.items():
                if re.search(pattern, unanswered):
                    os.write(screen, answer.encode())
                    answered = shown
        return subprocess.CompletedProcess(words, process.wait(timeout=HANG_SECONDS), shown, "")
    finally:
        process.kill()
        process.wait(timeout=HANG_SECONDS)
        os.close(screen)


def _read(screen: int) -> str:
    """What came; nothing when all have closed their end."""
    ready, _, _ = select.select([screen], [], [], HANG_SECONDS)
    assert ready, "nothing was shown, and nobody ended"
    try:
        return os.read(screen, 65536).decode(errors="replace")
    except OSError:
        return ""
