"""Inside a job: its server and its credentials. Standard library only; what stands in for other platforms uses it too.

job = danlu.inside_job()
if job is not None:
    carrier = HttpCarrier(job.url, job.token)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple, Optional

from danlu.errors import InvalidInput

URL, TOKEN_FILE = "DANLU_URL", "DANLU_TOKEN_FILE"


class InsideJob(NamedTuple):
    """The job that this process runs in."""

    url: str
    """The server, as it is reached from here. Only the API is reached: `/api/v1/...`"""

    token_file: str
    job_id: str
    attempt: int
    rank: int

    def token(self) -> str:
        """The job's credentials, as the file has them now: ask for every request, and keep nothing.

        Raise InvalidInput when the file cannot be read.
        """
        try:
            with open(self.token_file, encoding="ascii") as file:
                token = file.read(1024).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.token_file} ({TOKEN_FILE}) cannot be read: {error}") from error
        if not token:
            raise InvalidInput(f"{self.token_file} ({TOKEN_FILE}): expected the job's token, got an empty file")
        return token


def inside_job(environ: Optional[Mapping[str, str]] = None) -> Optional[InsideJob]:
    """The job that this process runs in, with its server and its credentials; None outside of jobs.

    No address or key that a script brings along from elsewhere is needed, or of use, where this is not None.
    """
    env = os.environ if environ is None else environ
    url, token_file = env.get(URL), env.get(TOKEN_FILE)
    if not url or not token_file:
        return None
    return InsideJob(
        url.rstrip("/"),
        token_file,
        env.get("DANLU_JOB_ID", ""),
        _number(env.get("DANLU_ATTEMPT")),
        _number(env.get("DANLU_RANK")),
    )


def _number(text: Optional[str]) -> int:
    return int(text) if text and text.isdecimal() else 0
