"""`contract: tione`: the environment that scripts for TI-ONE's PyTorch 1.9 expect. User guide: docs/guide/launch.md.

TI-ONE's variables are set in every launch mode. This adds arguments: `torch.distributed.launch` used to pass
`--local_rank=0` to scripts, and now passes `--local-rank=0`, which their parsers do not accept.
"""

from __future__ import annotations

import shlex

from danlu.launch.additions import Additions
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.owner import Owner
from danlu.launch.placement import Placement
from danlu.spec.job import JobSpec

STARTS = (
    "As on TI-ONE: scripts whose parser has --local_rank take it as torch.distributed.launch of today writes it, "
    "--local-rank."
)
TOLD: dict[str, Told] = {}
FILES = {
    "sitecustomize.py": "read by every Python of the job: parsers that know --local_rank also take --local-rank",
}
TEXT = '''\
"""Danlu, contract: tione. Parsers that have --local_rank also take --local-rank, as torch.distributed.launch writes."""

import argparse
import importlib.machinery
import importlib.util
import os
import sys

_parse_known_args = argparse.ArgumentParser.parse_known_args


def _old(word):
    return "--local_rank" + word[12:] if word == "--local-rank" or word.startswith("--local-rank=") else word


def parse_known_args(self, args=None, namespace=None):
    known = self._option_string_actions
    if "--local_rank" in known and "--local-rank" not in known:
        args = [_old(word) for word in (sys.argv[1:] if args is None else args)]
    return _parse_known_args(self, args, namespace)


argparse.ArgumentParser.parse_known_args = parse_known_args

# the sitecustomize that this one hides
_here = os.path.dirname(os.path.abspath(__file__))
_others = [folder for folder in sys.path if os.path.abspath(folder) != _here]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
'''


def add(
    job: JobSpec,  # noqa: ARG001 - every contract takes the same
    added: list[Additions],
    *,
    job_id: str,  # noqa: ARG001
    attempt: int,  # noqa: ARG001
    placement: Placement,
    owner: Owner,  # noqa: ARG001
) -> list[Additions]:
    result = []
    for place, before in zip(placement.tasks, added, strict=True):
        folder = f"{Layout(place.root).config}/python"
        result.append(
            before._replace(
                files={**before.files, f"{folder}/sitecustomize.py": TEXT},
                prologue="\n".join(filter(None, [before.prologue, _export(folder)])),
            )
        )
    return result


def _export(folder: str) -> str:
    return f'export PYTHONPATH={shlex.quote(folder)}"${{PYTHONPATH:+:$PYTHONPATH}}"'
