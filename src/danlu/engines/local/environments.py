"""The Python of a task: its version, where its packages come from, and where the task itself installs packages.

    <root>/.environment       packages that the task installs (`pip install` in its setup), over
    ENVIRONMENT               the job's requirements, built once and shared read-only, over
    the server's packages     if their Python has the same version

A task's `python` and `pip` belong to the first layer, a folder on disk that is deleted with the job.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from danlu.engines.local import sandbox
from danlu.engines.local.abilities import Abilities
from danlu.engines.local.folders import TaskFolder
from danlu.engines.local.scripts import NODE_SCRIPTS, script_runner
from danlu.engines.local.software import Interpreter, Software
from danlu.engines.settings import EngineSettings
from danlu.errors import Unsupported
from danlu.launch import TaskPlan
from danlu.launch.layout import Layout
from danlu.node.environment.find import REQUIREMENTS
from danlu.node.environment.step import INSIDE, NEW
from danlu.node.environment.venv import LAYER, look_further, site_packages, write_venv
from danlu.node.supervise.records import ENVIRONMENT
from danlu.node.task import TaskEnvironment

PLACE = "/run/danlu/environment"
"""Where tasks in a sandbox see the environment with their job's requirements."""

FIRST_BUILD_UID = 1_500_000_000
"""Uids of environment builds, one per project. They differ from those of jobs, so that no job can tamper with a
build."""

PASSED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "ASCEND_HOME_PATH")
USER = "danlu"
_PIP = """#!/bin/sh
# what is unpacked on the way stays on the disk: /tmp may be memory
mkdir -p {tmp} && TMPDIR={tmp} exec {python} -m pip --python {own} "$@"
"""


def interpreter_of(task: TaskPlan, software: Software) -> Interpreter | None:
    """The Python that the task asks for, or else the server's. Raise Unsupported when the node does not have it."""
    asked = task.environment.python if task.environment is not None else ""
    if not asked:
        return software.interpreter
    found = software.pythons.get(asked)
    if found is None:
        known = ", ".join(software.pythons) or "none"
        raise Unsupported(f"python: expected one of {known} (those of {task.node}), got {asked!r}")
    return found


def check_environment(task: TaskPlan, software: Software) -> None:
    """Raise Unsupported for requirements that this machine cannot install."""
    python = interpreter_of(task, software)
    wanted = task.environment
    if wanted is None or not wanted.has_packages:
        return
    if python is None:
        raise Unsupported(f"requirements: the Python of {task.node} does not answer")
    if not software.uv and not software.pip:
        raise Unsupported(f"requirements: {task.node} has neither uv nor pip; install one of them for Danlu's Python")


def write_layer(task: TaskPlan, folder: TaskFolder, *, software: Software, has_sandbox: bool) -> None:
    """Create the task's own, empty virtual environment on top of the job's requirements or the server's packages."""
    python = interpreter_of(task, software)
    if python is None or task.image is not None:
        return
    seen = Layout(task.root).environment
    made = folder.ml / os.path.relpath(seen, task.root)
    made.mkdir(mode=0o755, parents=True)
    write_venv(str(made), python=python.path, version=python.version)
    base = _base_of(python, software)
    if task.environment is not None and task.environment.has_packages:
        base = site_packages(_environment_place(folder, has_sandbox), python.version)
    own = tuple(map(str, software.folders))
    look_further(str(made), python.version, base=base, own=own, place=seen)
    if software.pip:
        words = {"tmp": f"{seen}/tmp", "python": software.pip, "own": f"{seen}/bin/python"}
        _write_program(made / "bin" / "pip", _PIP.format_map({name: shlex.quote(word) for name, word in words.items()}))
        (made / "bin" / "pip3").symlink_to("pip")
    if python.version == software.version:
        (made / "base").mkdir()
        for name, text in software.scripts.items():
            _write_program(made / "base" / name, f"#!{seen}/bin/python\n{text}")


def describe_environment(
    task: TaskPlan,
    folder: TaskFolder,
    *,
    settings: EngineSettings,
    can: Abilities,
    view: sandbox.View | None,
    uid: int | None,
) -> TaskEnvironment | None:
    """Return what the shim needs to install the job's requirements; None without requirements."""
    software, machine = can.software, can.machine
    wanted, python = task.environment, interpreter_of(task, software)
    if wanted is None or not wanted.has_packages or python is None:
        return None
    collected = folder.path / REQUIREMENTS
    collected.mkdir(mode=0o755)
    if uid is not None:
        os.chown(collected, uid, uid)
    return TaskEnvironment(
        python=python.path,
        version=python.version,
        folder=str(settings.environments_dir / str(wanted.project_id)),
        place="" if machine is None else PLACE,
        step=(*script_runner(settings), str(NODE_SCRIPTS / "environment/step.py")),
        build=(*script_runner(settings), str(NODE_SCRIPTS / "environment/build.py")),
        code=str(folder.ml / os.path.relpath(Layout(task.root).code, task.root)),
        file=wanted.file,
        packages=wanted.packages,
        uv=software.uv,
        pip=software.pip,
        base=_base_of(python, software),
        own=tuple(map(str, software.folders)),
        wrap=() if machine is None or view is None else tuple(sandbox.wrap(machine, _build_view(view, folder))),
        uid=None if uid is None else FIRST_BUILD_UID + wanted.project_id,
        max_bytes=settings.environment_bytes,
    )


def environment_mount(task: TaskPlan, folder: TaskFolder) -> tuple[tuple[str, str], ...]:
    """Mount the job's requirements read-only into the sandbox."""
    if task.environment is None or not task.environment.has_packages:
        return ()
    return ((str(folder.path / ENVIRONMENT), PLACE),)


def base_environment(
    task: TaskPlan, folder: TaskFolder, *, settings: EngineSettings, software: Software, home: str
) -> dict[str, str]:
    """Variables of every job; those of its plan override them. Only the listed variables of the server are passed
    on."""
    passed_on = {name: os.environ[name] for name in (*PASSED_ON, *settings.pass_env) if name in os.environ}
    return {
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",  # stdout is a file, which Python would write to in blocks
        # an image brings its own programs and libraries, and sets their variables itself
        **({**passed_on, **_python_variables(task, folder, settings, software, home)} if task.image is None else {}),
        "HOME": home or str(folder.home),
        "TMPDIR": "/tmp" if home else str(folder.tmp),
        "USER": USER,
        "LOGNAME": USER,
        "SHELL": "/bin/bash" if task.image is None else "/bin/sh",
    }


def _python_variables(
    task: TaskPlan, folder: TaskFolder, settings: EngineSettings, software: Software, home: str
) -> Mapping[str, str]:
    path = [str(settings.python.parent), os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")]
    python = interpreter_of(task, software)
    if python is None:
        return {"PATH": ":".join(path)}
    layer = Layout(task.root).environment
    has_packages = task.environment is not None and task.environment.has_packages
    shared = [_environment_place(folder, bool(home))] if has_packages else []
    base = _base_of(python, software)
    below = [*shared, *([str(Path(base).parents[2])] if base else [])]
    return {
        "PATH": ":".join([f"{layer}/bin", *(f"{place}/bin" for place in shared), f"{layer}/base", *path]),
        "VIRTUAL_ENV": layer,
        LAYER: layer,
        # Jupyter searches only the first environment for extensions and kernels unless these name the others
        "JUPYTER_PATH": ":".join(f"{place}/share/jupyter" for place in below),
        "JUPYTER_CONFIG_PATH": ":".join(f"{place}/etc/jupyter" for place in below),
    }


def _environment_place(folder: TaskFolder, has_sandbox: bool) -> str:
    return PLACE if has_sandbox else str(folder.path / ENVIRONMENT)


def _base_of(python: Interpreter, software: Software) -> str:
    """Return the server's packages if they are for the same Python version, else nothing."""
    return software.site_packages if python.version == software.version else ""


def _build_view(view: sandbox.View, folder: TaskFolder) -> sandbox.View:
    """The sandbox of a build: the task's names and network, the definition of the environment, and its output
    folder."""
    return replace(
        view,
        root=PLACE,
        writable=((str(folder.path / NEW), PLACE),),
        readable=(*_names(view.readable), (str(folder.path / REQUIREMENTS), INSIDE)),
        device_type="cpu",
        device_ids=(),
    )


def _names(readable: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(source, target) for source, target in readable if target != PLACE]


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
