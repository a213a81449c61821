"""Launch modes: pure functions from a job and its placement to a plan, one file per mode."""

from danlu.launch.explain import Explanation, explain
from danlu.launch.modes import make_plan
from danlu.launch.owner import Owner
from danlu.launch.placement import Placement, TaskPlacement
from danlu.launch.plan import Fetch, Mount, Plan, Send, TaskPlan

__all__ = [
    "Explanation",
    "Fetch",
    "Mount",
    "Owner",
    "Placement",
    "Plan",
    "Send",
    "TaskPlacement",
    "TaskPlan",
    "explain",
    "make_plan",
]
