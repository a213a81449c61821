"""Hyperparameters as people bring them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from danlu.spec.job import JobSpec


def read(values: Any) -> dict[str, Any]:
    return JobSpec.model_validate({"name": "x", "command": "true", "hyperparameters": values}).hyperparameters


def test_a_list_of_labels_and_values_is_a_mapping() -> None:
    assert read([{"label": "epoch_size", "value": 5}, {"label": "run_distribute", "value": "True"}]) == {
        "epoch_size": 5,
        "run_distribute": "True",
    }


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([{"label": "lr"}], "0: expected {label: NAME, value: VALUE}"),
        ([{"label": "lr", "value": 1}, {"label": "lr", "value": 2}], "1: the label 'lr' appears twice"),
        ([{"label": 3, "value": 1}], "0: expected {label: NAME, value: VALUE}"),
        (["lr"], "0: expected {label: NAME, value: VALUE}"),
    ],
)
def test_a_bad_list_names_its_entry(values: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told.replace("{", r"\{")):
        read(values)
