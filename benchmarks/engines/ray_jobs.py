"""Submit jobs through Ray Jobs, one per input line: `python ray_jobs.py DASHBOARD CODE_FOLDER`.

Prints the seconds from submit to the first line of the job's own code.
"""

from __future__ import annotations

import sys
import time

from ray.job_submission import JobStatus, JobSubmissionClient

ENDED = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED)


def main(dashboard: str, folder: str) -> None:
    client = JobSubmissionClient(dashboard)
    for _ in sys.stdin:
        began = time.time()
        job = client.submit_job(entrypoint="python3 first_line.py", runtime_env={"working_dir": folder})
        while client.get_job_status(job) not in ENDED:
            time.sleep(0.05)
        printed = [text for text in client.get_job_logs(job).splitlines() if text.replace(".", "").isdigit()]
        print(float(printed[0]) - began, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
