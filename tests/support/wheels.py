"""Packages that tests make themselves: small wheels, with a program each."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence


def make_wheel(name: str, version: str = "1.0", *, needs: Sequence[str] = ()) -> tuple[str, bytes]:
    """File name and bytes of a wheel. Its module prints name and version, and so does the program of its name."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n\ndef main():\n    print({name!r}, VERSION)\n",
        f"{info}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {name}",
                f"Version: {version}",
                *(f"Requires-Dist: {one}" for one in needs),
            ]
        )
        + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(zipfile.ZipInfo(path), text)  # always the same bytes
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def wheel_folder(*wheels: tuple[str, bytes]) -> dict[str, bytes]:
    """Files of a code folder that holds wheels."""
    return {f"wheels/{name}": data for name, data in wheels}
