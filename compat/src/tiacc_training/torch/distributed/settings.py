"""The old library's environment variables, translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from danlu_accel.comm import Algorithm

# 1 asks for speed, and on a fast link 2d is the slower one: so it is measured, beside the others.
ALGORITHMS: dict[str | None, Algorithm] = {None: "auto", "0": "flat", "1": "auto", "force": "2d"}


@dataclass(frozen=True)
class OldSettings:
    """What the old mpirun line asked for."""

    algorithm: Algorithm
    bucket_cap_mb: float | None
    num_streams: int
    local_size: int | None


def read_settings(environ: Mapping[str, str]) -> OldSettings:
    """Translate; raises ValueError with the variable's name when a value makes no sense."""
    wanted = environ.get("LIGHT_2D_ALLREDUCE")
    if wanted not in ALGORITHMS:
        raise ValueError(f"LIGHT_2D_ALLREDUCE: expected 0, 1 or force, got {wanted!r}")
    fusion = _number(environ, "TIACC_TRAINING_FUSION_THRESHOLD")
    return OldSettings(
        algorithm=ALGORITHMS[wanted],
        bucket_cap_mb=None if fusion is None else fusion / (1 << 20),
        num_streams=_number(environ, "TIACC_TRAINING_NUM_NCCL_STREAMS") or 1,
        local_size=_number(environ, "LIGHT_INTRA_SIZE"),
    )


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"{name} is {text!r}; it must be a whole number above 0")
    return int(text)
