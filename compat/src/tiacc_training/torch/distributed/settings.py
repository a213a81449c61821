"""Translate the old library's environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from danlu_accel.comm import Algorithm, WireFormat

# 1 asks for speed, but 2d is slower on a fast link: so measure it against the others.
TOPK_RATIO = "0.01"
ALGORITHMS: dict[str | None, Algorithm] = {None: "auto", "0": "flat", "1": "auto", "force": "2d"}


@dataclass(frozen=True)
class OldSettings:
    """The settings of the old mpirun command line."""

    algorithm: Algorithm
    bucket_cap_mb: float | None
    num_streams: int
    local_size: int | None
    wire: WireFormat = "exact"


def read_settings(environ: Mapping[str, str]) -> OldSettings:
    """Translate the variables; raises ValueError with the name of one that has an invalid value."""
    wanted = environ.get("LIGHT_2D_ALLREDUCE")
    if wanted not in ALGORITHMS:
        raise ValueError(f"LIGHT_2D_ALLREDUCE: expected 0, 1 or force, got {wanted!r}")
    topk = environ.get("LIGHT_TOPK_ALLREDUCE", "0")
    if topk not in ("0", "1"):
        raise ValueError(f"LIGHT_TOPK_ALLREDUCE: expected 0 or 1, got {topk!r}")
    if topk == "1":
        _require_topk(environ, wanted)
    fusion = _number(environ, "TIACC_TRAINING_FUSION_THRESHOLD")
    return OldSettings(
        algorithm=ALGORITHMS[wanted],
        bucket_cap_mb=None if fusion is None else fusion / (1 << 20),
        num_streams=_number(environ, "TIACC_TRAINING_NUM_NCCL_STREAMS") or 1,
        local_size=_number(environ, "LIGHT_INTRA_SIZE"),
        wire="topk" if topk == "1" else "exact",
    )


def _require_topk(environ: Mapping[str, str], wanted: str | None) -> None:
    ratio = environ.get("LIGHT_TOPK_RATIO", TOPK_RATIO)
    if ratio != TOPK_RATIO:
        raise ValueError(f"LIGHT_TOPK_RATIO: expected {TOPK_RATIO}, the one that there is, got {ratio!r}")
    if wanted == "0":
        raise ValueError("LIGHT_TOPK_ALLREDUCE: expected 0 with LIGHT_2D_ALLREDUCE=0, which is always exact, got '1'")


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"{name} is {text!r}; it must be a whole number above 0")
    return int(text)
