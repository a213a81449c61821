"""Parameters of the second Estimator: code, inputs, outputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingFiles:
    code_dir: str
    boot_file: str


@dataclass(frozen=True)
class InputData:
    obs_path: str
    name: str = "data_url"


@dataclass(frozen=True)
class OutputData:
    obs_path: str
    name: str = "train_url"
