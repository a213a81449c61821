"""Folders of a task: below `/opt/ml` in a sandbox, below a folder of its own without one; the rest is the same."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

CHECKPOINTS = "checkpoints"
"""Folder of the output that the next attempt starts with."""


EM = ".em"
"""Folder in the working directory in which scripts for t9k.em keep runs and artifacts."""


class Layout(NamedTuple):
    root: str

    @property
    def data(self) -> str:
        return f"{self.root}/input/data"

    @property
    def config(self) -> str:
        return f"{self.root}/input/config"

    @property
    def code(self) -> str:
        return f"{self.root}/code"

    @property
    def output(self) -> str:
        """Uploaded while the command runs."""
        return f"{self.root}/output"

    @property
    def model(self) -> str:
        """Uploaded after the command's end."""
        return f"{self.root}/model"

    @property
    def runs(self) -> str:
        """Journals of runs, uploaded while the command runs."""
        return f"{self.root}/runs"

    @property
    def environment(self) -> str:
        """Packages that the task installs itself; deleted with the task."""
        return f"{self.root}/.environment"

    @property
    def checkpoints(self) -> str:
        """Part of the output; restored in the next attempt."""
        return f"{self.output}/{CHECKPOINTS}"

    @property
    def stop_file(self) -> str:
        """Exists once the task has been asked to stop."""
        return f"{self.config}/stop"

    @property
    def hyperparameters(self) -> str:
        return f"{self.config}/hyperparameters.json"

    @property
    def setup_script(self) -> str:
        return f"{self.config}/setup.sh"

    @property
    def setup_done(self) -> str:
        """Exists once setup has succeeded, so that the shim can tell a failed setup from a failed command."""
        return f"{self.config}/.setup-done"

    @property
    def token(self) -> str:
        """The attempt's token. Written by the engine, never part of a plan."""
        return f"{self.config}/token"

    def in_data(self, path: str) -> str:
        """Resolve a path of `data`: relative ones lie below the data folder."""
        return posixpath.join(self.data, path)
