"""`MixedPrecision_TrainingPolicy`: three of Danlu's policies behind one class with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.amp import GradScaler

from danlu_accel.precision import LossAware, LrAware, Policy, TimeWindow, mean_over_ranks, restart_scale

NUMBERS = {"TimeSchedulePolicy": 0}

# the names in the sample code -> the names in the table of arguments
ALIASES = {
    "start_step": "start_time",
    "hold_step": "hold_time",
    "end_step": "end_time",
    "test_interval": "interval_time",
    "test_step": "interval_hold_time",
}


class MixedPrecision_TrainingPolicy:  # noqa: N801 - the name is the old library's
    """Policy 0: a window of epochs; 1: a window, with care when the learning rate jumps; 2: by how the loss falls.

    Arguments may be given by position, by the names below, or by the names of ALIASES; one argument by both names is
    a TypeError.
    """

    def __init__(
        self,
        policy: int | str,
        start_time: int | None = None,
        hold_time: int | None = None,
        end_time: int | None = None,
        interval_time: int | None = None,
        interval_hold_time: int | None = None,
        **aliases: int | None,
    ) -> None:
        given = {
            "start_time": start_time,
            "hold_time": hold_time,
            "end_time": end_time,
            "interval_time": interval_time,
            "interval_hold_time": interval_hold_time,
        }
        self._policy = _build(policy, _merge(given, aliases))
        self._was_on = False
        self._first_scale: float | None = None

    def enable_mixed_precision(
        self,
        epoch: int,
        lr: float | None = None,
        loss: float | None = None,
        scaler: GradScaler | None = None,
    ) -> bool:
        """Say whether this epoch trains in mixed precision; `loss` is that of the epoch before.

        With several ranks all must ask: their losses are averaged, so that all get the same answer. When mixed
        precision begins again, the scaler starts again from its first scale.
        """
        if not isinstance(scaler, GradScaler):
            raise TypeError(
                f"scaler is {type(scaler).__name__}; give the GradScaler of the training loop "
                "(torch.cuda.amp.GradScaler() or torch.amp.GradScaler('cpu'))"
            )
        if self._first_scale is None:
            self._first_scale = scaler.get_scale()
        is_on = self._policy.enabled(
            epoch, None if lr is None else float(lr), mean_over_ranks(None if loss is None else float(loss))
        )
        if is_on and not self._was_on:
            restart_scale(scaler, self._first_scale)
        self._was_on = is_on
        return is_on

    def state_dict(self) -> dict[str, Any]:
        return {**self._policy.state_dict(), "was_on": self._was_on, "first_scale": self._first_scale}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._policy.load_state_dict(state)
        self._was_on = state["was_on"]
        self._first_scale = state["first_scale"]


def _merge(given: Mapping[str, int | None], aliases: Mapping[str, int | None]) -> dict[str, int]:
    merged = {name: value for name, value in given.items() if value is not None}
    for alias, value in aliases.items():
        name = ALIASES.get(alias)
        if name is None:
            known = ", ".join([*given, *ALIASES])
            raise TypeError(f"MixedPrecision_TrainingPolicy has no argument {alias!r}; known: {known}")
        if name in merged:
            raise TypeError(f"{alias!r} and {name!r} are the same argument; give one of them")
        if value is not None:
            merged[name] = value
    return merged


def _build(policy: int | str, given: Mapping[str, int]) -> Policy:
    number = NUMBERS.get(policy, policy) if isinstance(policy, str) else policy
    start, end = given.get("start_time", 10), given.get("end_time")
    if number == 0:
        return TimeWindow(start, end)
    if number == 1:
        if "hold_time" not in given:
            raise ValueError("policy 1 needs hold_time: for how many epochs a verdict stands")
        return LrAware(start, end, hold=given["hold_time"])
    if number == 2:
        return LossAware(given.get("interval_time", 1000), given.get("interval_hold_time", 100))
    raise ValueError(f"no policy {policy!r}; known: 0, 1, 2, {', '.join(map(repr, NUMBERS))}")
