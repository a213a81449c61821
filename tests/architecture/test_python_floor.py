"""What runs in training images keeps to what Python 3.9 understands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.source import SOURCE


@pytest.mark.parametrize(
    ("folders", "options"),
    [
        (("spec", "wire", "errors.py"), ["--eval-annotations"]),  # pydantic reads annotations at run time
        (
            (
                "bench",
                "client",
                "content",
                "importing",
                "journal",
                "node",
                "transfer",
                "track",
                "preemption.py",
                "inside.py",
            ),
            [],
        ),
    ],
)
def test_what_runs_in_training_images_keeps_to_python_39(folders: tuple[str, ...], options: list[str]) -> None:
    vermin = Path(sys.executable).with_name("vermin")
    places = [SOURCE / name for name in folders]
    assert [place.name for place in places if not place.exists()] == []
    command = [str(vermin), "-t=3.9-", "--violations", "--no-tips", *options, *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
