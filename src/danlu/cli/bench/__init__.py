"""Commands of `danlu bench`."""

from __future__ import annotations

from danlu.cli.bench import cluster as cluster  # adds its commands to the group
from danlu.cli.bench.commands import app as app
