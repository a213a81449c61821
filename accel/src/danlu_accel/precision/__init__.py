"""Mixed precision only when it is safe: policies decide when, and the device determines the type.

from danlu_accel import precision

adaptive = precision.AdaptivePrecision(precision.TimeWindow(start=10), model)
"""

from danlu_accel.precision.adaptive import AdaptivePrecision, EpochRecord, mean_over_ranks
from danlu_accel.precision.devices import LowPrecision, choose_dtype, read_cpu_flags
from danlu_accel.precision.policies import Decision, LossAware, LrAware, Policy, TimeWindow
from danlu_accel.precision.scaling import restart_scale

__all__ = [
    "AdaptivePrecision",
    "Decision",
    "EpochRecord",
    "LossAware",
    "LowPrecision",
    "LrAware",
    "Policy",
    "TimeWindow",
    "choose_dtype",
    "mean_over_ranks",
    "read_cpu_flags",
    "restart_scale",
]
