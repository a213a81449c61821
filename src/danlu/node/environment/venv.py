"""Write virtual environments without starting Python: a few small files that the interpreter looks for.

<folder>/pyvenv.cfg                           names the interpreter
<folder>/bin/python                           a link to it
<folder>/lib/python3.N/site-packages          packages
<folder>/lib/python3.N/site-packages/*.pth    further folders with packages
<folder>/own                                  links to Danlu's own packages, for environments without a base
"""

from __future__ import annotations

import os
from collections.abc import Sequence

LAYER = "DANLU_LAYER"
"""Variable of every task: the layer with its own packages, which take precedence over those of an environment."""

_FURTHER = "zz-danlu-base.pth"
_BEFORE = "aa-danlu-layer.pth"


def site_packages(folder: str, version: str) -> str:
    return os.path.join(folder, "lib", f"python{version}", "site-packages")


def write_venv(folder: str, *, python: str, version: str) -> None:
    """Create an empty virtual environment in an existing folder."""
    os.makedirs(site_packages(folder, version), mode=0o755, exist_ok=True)
    os.makedirs(os.path.join(folder, "bin"), mode=0o755, exist_ok=True)
    real = os.path.realpath(python)
    os.symlink(real, os.path.join(folder, "bin", "python"))
    for name in ("python3", f"python{version}"):
        os.symlink("python", os.path.join(folder, "bin", name))
    with open(os.path.join(folder, "pyvenv.cfg"), "w") as file:
        file.write(
            f"home = {os.path.dirname(real)}\ninclude-system-site-packages = false\nversion = {version}\n"
            f"executable = {real}\n"
        )


def look_further(folder: str, version: str, *, base: str, own: Sequence[str], place: str) -> None:
    """Add the packages of `base`, or Danlu's alone, after its own. Installers treat them as installed.

    `place` is the path at which tasks see the folder.
    """
    further = base
    if not base:
        further = os.path.join(place, "own")
        os.makedirs(os.path.join(folder, "own"), mode=0o755, exist_ok=True)
        for name, package in {os.path.basename(one): one for one in reversed(own)}.items():
            os.symlink(package, os.path.join(folder, "own", name))
    with open(os.path.join(site_packages(folder, version), _FURTHER), "w") as file:
        file.write(f"import site; site.addsitedir({further!r})\n")


def look_into_layer_first(folder: str, version: str) -> None:
    """Make programs of this environment prefer the packages that a task installs itself."""
    tail = f"lib/python{version}/site-packages"
    with open(os.path.join(site_packages(folder, version), _BEFORE), "w") as file:
        file.write(
            f"import os, sys; layer = os.path.join(os.environ.get({LAYER!r}, ''), {tail!r}); "
            "os.path.isabs(layer) and layer not in sys.path and os.path.isdir(layer) and "
            "sys.path.insert(next((i for i, path in enumerate(sys.path) if path.endswith('site-packages')), "
            "len(sys.path)), layer)\n"
        )
