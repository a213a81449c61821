"""`MixedPrecision_TrainingPolicy`: three of Danlu's policies behind one class, selected by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.amp import GradScaler

from danlu_accel.precision import LossAware, LrAware, Policy, TimeWindow, mean_over_ranks, restart_scale

NUMBERS = {"TimeSchedulePolicy": 0}

NAMES = ("start_time", "hold_time", "end_time", "interval_time", "interval_hold_time")
"""The order of arguments in the guide's sample code."""

NAMES_OF_TABLE = ("start_time", "end_time", "hold_time", "interval_time", "interval_hold_time")
"""The order of arguments in the guide's table."""

# names in the sample code -> names in the table
ALIASES = {
    "start_step": "start_time",
    "hold_step": "hold_time",
    "end_step": "end_time",
    "test_interval": "interval_time",
    "test_step": "interval_hold_time",
}


class MixedPrecision_TrainingPolicy:  # noqa: N801 - the name is the old library's
    """Policy 0: a window of epochs; 1: a window that pauses when the learning rate jumps; 2: by the fall of the loss.

    Positional arguments may be in the order of NAMES or NAMES_OF_TABLE, whichever makes sense. Keywords may be these
    names or those of ALIASES; an argument given twice is a TypeError.
    """

    def __init__(self, policy: int | str, *by_position: int | None, **by_name: int | None) -> None:
        number = NUMBERS.get(policy, policy) if isinstance(policy, str) else policy
        if len(by_position) > len(NAMES):
            raise TypeError(f"expected at most {1 + len(NAMES)} arguments by position, got {1 + len(by_position)}")
        self._policy = _build(number, _merge(_in_order(number, by_position), by_name))
        self._was_on = False
        self._first_scale: float | None = None

    def enable_mixed_precision(
        self,
        epoch: int,
        lr: float | None = None,
        loss: float | None = None,
        scaler: GradScaler | None = None,
    ) -> bool:
        """Return whether this epoch trains in mixed precision; `loss` is that of the previous epoch.

        All ranks must call it: their losses are averaged, so that all make the same decision. When mixed precision
        starts again, the scaler restarts from its initial scale.
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


def _in_order(number: int | str, by_position: tuple[int | None, ...]) -> dict[str, int | None]:
    """Name the arguments. The guide has two orders; as a hold is part of its window, values tell which is meant."""
    sample, table = dict(zip(NAMES, by_position)), dict(zip(NAMES_OF_TABLE, by_position))
    if number not in (0, 1) or _makes_sense(number, sample):
        return sample
    if _makes_sense(number, table):
        return table
    raise ValueError(
        f"by position: expected start, hold, end or start, end, hold with a hold that fits between start and end, "
        f"got {', '.join(map(str, by_position))}; write start_time=, end_time= and hold_time="
    )


def _makes_sense(number: int | str, given: Mapping[str, int | None]) -> bool:
    hold, end, start = given.get("hold_time"), given.get("end_time"), given.get("start_time")
    if hold is None:
        return number == 0 or end is None  # policy 1 needs a hold; omitted arguments may be given by keyword
    if end is None:
        return number == 1  # policy 0 has no hold, so this value means something else
    return hold <= end - (10 if start is None else start) + 1


def _merge(given: Mapping[str, int | None], by_name: Mapping[str, int | None]) -> dict[str, int]:
    merged = {name: value for name, value in given.items() if value is not None}
    spelled = {name: name for name in merged}
    for word, value in by_name.items():
        name = ALIASES.get(word, word)
        if name not in NAMES:
            known = ", ".join([*NAMES, *ALIASES])
            raise TypeError(f"MixedPrecision_TrainingPolicy has no argument {word!r}; known: {known}")
        if name in spelled:
            raise TypeError(f"{word!r} and {spelled[name]!r} are the same argument; give one of them")
        if value is not None:
            merged[name] = value
            spelled[name] = word
    return merged


def _build(number: int | str, given: Mapping[str, int]) -> Policy:
    start, end = given.get("start_time", 10), given.get("end_time")
    if number == 0:
        return TimeWindow(start, end)
    if number == 1:
        if "hold_time" not in given:
            raise ValueError("policy 1 needs hold_time: for how many epochs a verdict stands")
        return LrAware(start, end, hold=given["hold_time"])
    if number == 2:
        return LossAware(given.get("interval_time", 1000), given.get("interval_hold_time", 100))
    raise ValueError(f"no policy {number!r}; known: 0, 1, 2, {', '.join(map(repr, NUMBERS))}")
