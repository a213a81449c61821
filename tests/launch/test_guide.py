"""The job files in the guide are job files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from danlu.client.jobs.jobfile import parse_job_text
from danlu.spec.job import parse_job
from danlu.spec.roles import check

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "launch.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS, ids=lambda text: text.split("\n")[0])
def test_every_job_file_in_the_guide_can_be_used(text: str) -> None:
    values = parse_job_text(text, Path("job.yml")).values
    whole = {"name": "a", **values}
    check(parse_job(whole if "roles" in whole else {"command": "x", **whole}))
