"""When to train in low precision: three policies, called once per epoch.

A policy decides from its inputs so far alone, without clock, randomness or device. These inputs are its whole state,
so a training resumed from `state_dict()` makes the same decisions.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

log = logging.getLogger("danlu_accel.precision")

Outside = Literal["off", "hold"]


@dataclass(frozen=True)
class Decision:
    """One epoch: the inputs, the decision, and the reason. `loss` is that of the previous epoch."""

    epoch: int
    lr: float | None
    loss: float | None
    is_enabled: bool
    reason: str


class Policy(ABC):
    """Decides whether an epoch runs in low precision, and stores its decisions."""

    def __init__(self) -> None:
        self._decisions: dict[int, Decision] = {}

    def enabled(self, epoch: int, lr: float | None = None, loss: float | None = None) -> bool:
        """Return whether `epoch` runs in low precision; `lr` is its learning rate, `loss` that of the previous epoch.

        Calling it again for an epoch returns the same. A loss that is not finite means full precision, and is logged.
        """
        if epoch not in self._decisions:
            decision = self.decide(epoch, lr, loss, list(self._decisions.values()))
            if is_broken(loss):
                log.warning("epoch %d: the loss before it was %s; %s", epoch, loss, decision.reason)
            self._decisions[epoch] = decision
        return self._decisions[epoch].is_enabled

    @abstractmethod
    def decide(self, epoch: int, lr: float | None, loss: float | None, past: Sequence[Decision]) -> Decision:
        """Return the decision for the epoch after `past`. Pure."""

    @property
    def decisions(self) -> list[Decision]:
        """All decisions so far, in the order of the calls."""
        return list(self._decisions.values())

    def state_dict(self) -> dict[str, Any]:
        return {"decisions": [asdict(decision) for decision in self._decisions.values()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._decisions = {each["epoch"]: Decision(**each) for each in state["decisions"]}


class TimeWindow(Policy):
    """Low precision from epoch `start` to epoch `end`, both included; without `end`, to the last epoch."""

    def __init__(self, start: int = 10, end: int | None = None) -> None:
        super().__init__()
        _require_window(start, end)
        self.start = start
        self.end = end

    def decide(
        self,
        epoch: int,
        lr: float | None,
        loss: float | None,
        past: Sequence[Decision],  # noqa: ARG002
    ) -> Decision:
        if not is_inside(epoch, self.start, self.end):
            return Decision(epoch, lr, loss, False, "outside the window")
        if is_broken(loss):
            return Decision(epoch, lr, loss, False, "full precision for this epoch")
        return Decision(epoch, lr, loss, True, "inside the window")


class LrAware(Policy):
    """Like TimeWindow, but with full precision for `hold` epochs after a jump of the learning rate.

    A jump is a rise by more than `tolerance` or a fall to half or less; a loss that is not finite counts as one.
    A jump during a hold restarts it.
    """

    def __init__(self, start: int = 10, end: int | None = None, *, hold: int, tolerance: float = 0.1) -> None:
        super().__init__()
        _require_window(start, end)
        _require_positive("hold", hold)
        self.start = start
        self.end = end
        self.hold = hold
        self.tolerance = tolerance

    def decide(self, epoch: int, lr: float | None, loss: float | None, past: Sequence[Decision]) -> Decision:
        if lr is None:
            raise ValueError("LrAware needs the learning rate: enabled(epoch, lr)")
        if is_broken(loss):
            return Decision(epoch, lr, loss, False, f"jump: full precision for {self.hold} epochs")
        if past and past[-1].lr is not None and self._is_jump(past[-1].lr, lr):
            return Decision(epoch, lr, loss, False, f"jump: learning rate {past[-1].lr:g} became {lr:g}")
        if not is_inside(epoch, self.start, self.end):
            return Decision(epoch, lr, loss, False, "outside the window")
        jumped_at = max((each.epoch for each in past if each.reason.startswith("jump")), default=None)
        if jumped_at is not None and epoch < jumped_at + self.hold:
            return Decision(epoch, lr, loss, False, f"held since the jump at epoch {jumped_at}")
        return Decision(epoch, lr, loss, True, "inside the window, learning rate steady")

    def _is_jump(self, before: float, now: float) -> bool:
        return now > (1 + self.tolerance) * before or now <= before / 2


class LossAware(Policy):
    """Every `interval` epochs, for `hold` epochs: low precision while the loss falls neither too fast nor too slowly.

    The relative fall of the loss in the previous epoch must be in [`slowest`, `fastest`]. Outside these windows
    (1000 to 1099, 2000 to 2099, ... for `interval` 1000 and `hold` 100) full precision, or with `outside="hold"` the
    last decision inside. A loss that is not finite ends low precision until the end of the window.
    """

    def __init__(
        self,
        interval: int = 1000,
        hold: int = 100,
        *,
        slowest: float = -0.05,
        fastest: float = 0.5,
        outside: Outside = "off",
    ) -> None:
        super().__init__()
        _require_positive("interval", interval)
        _require_positive("hold", hold)
        if not slowest < fastest:
            raise ValueError(f"slowest is {slowest} and fastest {fastest}; slowest must be the smaller")
        if outside not in get_args(Outside):
            raise ValueError(f"no outside {outside!r}; known: {', '.join(get_args(Outside))}")
        self.interval = interval
        self.hold = hold
        self.slowest = slowest
        self.fastest = fastest
        self.outside = outside

    def decide(self, epoch: int, lr: float | None, loss: float | None, past: Sequence[Decision]) -> Decision:
        window = self.window_of(epoch)
        if window is None:
            return self._decide_outside(epoch, lr, loss, past)
        if loss is None:
            raise ValueError("LossAware needs the loss of the epoch before: enabled(epoch, lr, loss)")
        same_window = [each for each in past if self.window_of(each.epoch) == window]
        if is_broken(loss) or any(is_broken(each.loss) for each in same_window):
            return Decision(epoch, lr, loss, False, "full precision until the window's end")
        before = past[-1].loss if past else None
        if before is None or is_broken(before) or before == 0:
            return Decision(epoch, lr, loss, False, "no earlier loss to compare with")
        fall = (before - loss) / abs(before)
        if fall > self.fastest:
            return Decision(epoch, lr, loss, False, f"loss fell by {fall:.3g}, faster than {self.fastest:g}")
        if fall < self.slowest:
            return Decision(epoch, lr, loss, False, f"loss fell by {fall:.3g}, slower than {self.slowest:g}")
        return Decision(epoch, lr, loss, True, f"loss fell by {fall:.3g}")

    def window_of(self, epoch: int) -> int | None:
        """Return the number of the window of an epoch, from 1, or None."""
        number, place = divmod(epoch, self.interval)
        return number if number >= 1 and place < self.hold else None

    def _decide_outside(self, epoch: int, lr: float | None, loss: float | None, past: Sequence[Decision]) -> Decision:
        if is_broken(loss):
            return Decision(epoch, lr, loss, False, "full precision: loss not finite")
        if self.outside == "hold" and past and past[-1].is_enabled:
            return Decision(epoch, lr, loss, True, "held from the last window")
        return Decision(epoch, lr, loss, False, "outside the windows")


def is_broken(loss: float | None) -> bool:
    """Whether the loss is given and infinite or NaN."""
    return loss is not None and not math.isfinite(loss)


def is_inside(epoch: int, start: int, end: int | None) -> bool:
    return epoch >= start and (end is None or epoch <= end)


def _require_window(start: int, end: int | None) -> None:
    if end is not None and end < start:
        raise ValueError(f"end is {end}, before start {start}; swap them")


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} is {value}; it must be at least 1")
