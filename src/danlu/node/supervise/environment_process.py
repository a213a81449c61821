"""The shim's side of a task's environment: having it made, and holding it for as long as the task lives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Optional

from danlu.node.environment.kept import hold
from danlu.node.supervise import network
from danlu.node.supervise.cgroup import Groups
from danlu.node.supervise.records import ENVIRONMENT
from danlu.node.supervise.stager_process import StagerProcess
from danlu.node.task import Task

_FOR_INSTALLERS = ("PIP_", "UV_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def make_environment(
    folder: str, task: Task, *, env: Mapping[str, str], groups: Groups, net: Optional[network.Network]
) -> StagerProcess:
    """Start the step. What makes an environment is in the control groups and the network of the task."""
    assert task.environment is not None

    def enter() -> None:
        if _is_there(folder, task, variables):
            os._exit(0)
        groups.join()  # takes the kernel some 16 ms
        if net is not None:
            network.enter(net)

    variables = {name: value for name, value in env.items() if _is_for_installers(name)}
    return StagerProcess.make_environment(folder, task.environment, variables=variables, enter=enter)


def _is_there(folder: str, task: Task, variables: Mapping[str, str]) -> bool:
    """Look before a program is started that could make it: most tasks find theirs."""
    from danlu.node.environment.find import find_environment

    try:
        return find_environment(folder, task, variables=variables)
    except Exception:  # this is a fork of the shim and must not go on as one; that program meets and tells the same
        return False


def hold_environment(folder: str) -> bool:
    """Keep it from being removed until this process ends; False when that has happened already."""
    return hold(os.path.realpath(os.path.join(folder, ENVIRONMENT))) is not None


def _is_for_installers(name: str) -> bool:
    return name.startswith(_FOR_INSTALLERS) or name.upper() in _PROXIES
