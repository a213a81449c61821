"""A real server with several simulated nodes on one machine, on which commands really run."""

from __future__ import annotations

import os
from pathlib import Path

from danlu.testing.serving import RunningServer
from danlu.testing.simulated import NUM_NODES

PLUGIN = "[danlu.engines]\nsimulated = danlu.testing.simulated:SimulatedEngine\n"


def server_with_nodes(folder: Path, num_nodes: int) -> RunningServer:
    """A server, not started yet. Its engine is a plugin: the entry point of a package on its path."""
    package = folder / "plugin" / "danlu_simulated-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: danlu-simulated\nVersion: 1\n")
    (package / "entry_points.txt").write_text(PLUGIN)
    server = RunningServer(folder / "data", "--engine", "simulated")
    path = os.pathsep.join(filter(None, (str(package.parent), os.environ.get("PYTHONPATH"))))
    server.env = {"PYTHONPATH": path, NUM_NODES: str(num_nodes)}
    return server
