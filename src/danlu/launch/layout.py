"""The folders of a task: the same below `/opt/ml` in a sandbox and below a folder of its own without one."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

CHECKPOINTS = "checkpoints"
"""The folder of the output that one attempt leaves to the next."""


EM = ".em"
"""Where scripts for t9k.em keep runs and artifacts, in the folder that they are started in."""


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
        """Journals of runs; brought to the server while the command runs."""
        return f"{self.root}/runs"

    @property
    def environment(self) -> str:
        """Packages that the task installs itself; goes with it."""
        return f"{self.root}/.environment"

    @property
    def checkpoints(self) -> str:
        """Part of the output; the next attempt finds here what this one left."""
        return f"{self.output}/{CHECKPOINTS}"

    @property
    def stop_file(self) -> str:
        """Exists once the task was told to end."""
        return f"{self.config}/stop"

    @property
    def hyperparameters(self) -> str:
        return f"{self.config}/hyperparameters.json"

    @property
    def setup_script(self) -> str:
        return f"{self.config}/setup.sh"

    @property
    def setup_done(self) -> str:
        """Exists once setup has ended well; how the shim tells a failed setup from a failed command."""
        return f"{self.config}/.setup-done"

    @property
    def token(self) -> str:
        """The attempt's own credentials; written by the engine, never part of a plan."""
        return f"{self.config}/token"

    def in_data(self, path: str) -> str:
        """Resolve a path of `data`: relative ones lie below the data folder."""
        return posixpath.join(self.data, path)
