"""Jobs that continue when the test lets them, instead of after some seconds."""

from __future__ import annotations

from pathlib import Path

HOLD = 'until [ -e "$DANLU_CODE_DIR/go" ]; do sleep 0.05; done'
"""A line of a job's command that waits for `let_go`."""

UNTIL_STOPPED = "sleep 3600"
"""A command that outlives every test: it only ends when it is stopped."""


def let_go(work_dir: Path, job_id: str, *, attempt: int = 1, rank: int = 0) -> None:
    """Let a task on this machine pass its HOLD. The task must have been started."""
    (work_dir / job_id / str(attempt) / str(rank) / "ml" / "code" / "go").touch()
