"""The shim's side of a task's environment: have it built, and keep it from being removed while the task lives."""

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
    """Start the step that finds or builds the environment, in the cgroups and the network of the task."""
    assert task.environment is not None

    def enter() -> None:
        if _is_there(folder, task, variables):
            os._exit(0)
        groups.join()  # takes the kernel about 16 ms
        if net is not None:
            network.enter(net)

    variables = {name: value for name, value in env.items() if _is_for_installers(name)}
    return StagerProcess.make_environment(folder, task.environment, variables=variables, enter=enter)


def _is_there(folder: str, task: Task, variables: Mapping[str, str]) -> bool:
    """Look for an existing environment before starting the program that builds one: most tasks find theirs."""
    from danlu.node.environment.find import find_environment

    try:
        return find_environment(folder, task, variables=variables)
    except Exception:  # this fork of the shim must not continue; the program that follows reports the error
        return False


def hold_environment(folder: str) -> bool:
    """Keep the environment from being removed until this process ends; False when it has been removed already."""
    return hold(os.path.realpath(os.path.join(folder, ENVIRONMENT))) is not None


def _is_for_installers(name: str) -> bool:
    return name.startswith(_FOR_INSTALLERS) or name.upper() in _PROXIES
