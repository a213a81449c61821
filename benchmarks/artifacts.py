"""The cost of storing the next checkpoint: 2 GiB, of which 5 % differ from the previous one.

Danlu splits files by content and sends only what the server lacks. For comparison, in the same run and with the same
files: MLflow's `log_artifact` sends everything again to its own server on this machine; W&B offline reads the file for
an MD5 and copies it to its folder, and sends nothing. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from danlu.testing.serving import RunningServer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "tracking"))
sys.path.insert(0, str(HERE / "artifacts"))
from checkpoint import write_checkpoint, write_next  # noqa: E402
from sides import mlflow_server, peer_seconds, send  # noqa: E402

SIZE, QUICK_SIZE = 2 << 30, 256 << 20
SHARE = 0.05
MANY = 10
"""Factor of the number of changed places, for the figure that shows the limits of splitting by content."""


def main() -> None:
    options = _options()
    size = QUICK_SIZE if options.quick else SIZE
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-", dir=options.dir))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}; checkpoints of {size >> 20} MiB")
    try:
        figures = measure_checkpoints(folder, size, with_peers=not options.no_peers)
        if not options.no_flow:
            figures += measure_flow_too(quick=options.quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<52} {one['value']:>14.4f}   gate {one['gate']}   goal {one['goal']}")
    print(json.dumps({"bench": "artifacts", "size_mib": size >> 20, "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"checkpoints of {QUICK_SIZE >> 20} MiB, not 2 GiB")
    parser.add_argument("--no-peers", action="store_true", help="leave W&B and MLflow out")
    parser.add_argument("--no-flow", action="store_true", help="leave the data flow out")
    parser.add_argument("--dir", type=Path, help="where the files are made; they need 9 times their size")
    return parser.parse_args()


def measure_checkpoints(folder: Path, size: int, *, with_peers: bool) -> list[dict[str, Any]]:
    files = {name: folder / name / "model.pt" for name in ("first", "next", "many")}
    for path in files.values():
        path.parent.mkdir()
    write_checkpoint(files["first"], size)
    about = write_next(files["first"], files["next"], share=SHARE)
    write_next(files["first"], files["many"], share=SHARE, spacing=(48 << 20) // MANY, seed=3)
    print(
        f"the next one differs in {about['changed_bytes'] / size:.1%}, in {about['num_places']} places, "
        f"{about['num_inserting']} of them with bytes put in"
    )
    ours = _danlu(folder / "danlu", files)
    share = ours["next"]["sent_bytes"] / ours["next"]["size"]
    many = ours["many"]["sent_bytes"] / ours["many"]["size"]
    seconds = ours["next"]["seconds"]
    print(f"danlu, first: {_told(ours['first'])}")
    print(f"danlu, next:  {_told(ours['next'])}")
    print(f"danlu, with {MANY} times as many places: {_told(ours['many'])}")
    print(f"danlu, download of the next one: {_told(ours['download'])}")
    memory = max(one["memory_mib"] for one in ours.values())
    figures = [
        figure("share_of_bytes_sent", share, 0.10, 0.07),
        figure("share_of_bytes_sent_many_places", many, None, None),
        figure("first_upload_seconds", ours["first"]["seconds"], None, None),
        figure("next_upload_seconds", seconds, None, None),
        figure("download_seconds", ours["download"]["seconds"], None, None),
        figure("client_memory_mib", memory, 384, 256),
    ]
    if with_peers:
        theirs = _mlflow(folder / "mlflow", files)
        print(f"mlflow log_artifact over HTTP: first {theirs[0]:.2f} s, next {theirs[1]:.2f} s")
        figures.append(figure("first_upload_times_mlflow", theirs[0] / ours["first"]["seconds"], 1.0, 1.5))
        figures.append(figure("next_upload_times_mlflow", theirs[1] / seconds, 1, 2))
        theirs = _wandb(folder / "wandb", files)
        print(
            f"wandb offline, read for its MD5 and copied, nothing sent: first {theirs[0]:.2f} s, next {theirs[1]:.2f} s"
        )
        figures.append(figure("next_upload_times_wandb_offline_copy", theirs[1] / seconds, None, 1))
    return figures


def measure_flow_too(*, quick: bool) -> list[dict[str, Any]]:
    """Measure lineage of depth 5 among 10,000 artifacts and 100,000 edges: benchmarks/artifacts_flow.py."""
    try:
        from artifacts_flow import measure_flow
    except ImportError:
        print("benchmarks/artifacts_flow.py is not there; the data flow is left out")
        return []
    return list(measure_flow(quick=quick))


def _danlu(folder: Path, files: dict[str, Path]) -> dict[str, Any]:
    folder.mkdir()
    server = RunningServer(folder / "data").start()
    try:
        found = {name: send(server, "upload", "checkpoint", path) for name, path in files.items()}
        found["download"] = send(server, "download", "checkpoint:2", folder / "back")
        same = subprocess.run(["cmp", folder / "back" / "model.pt", files["next"]], check=False).returncode == 0
        assert same, "what came back is not what was sent"
        return found
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _mlflow(folder: Path, files: dict[str, Path]) -> list[float]:
    with mlflow_server(folder) as url:
        return peer_seconds("mlflow_peer.py", url, [files["first"], files["next"]])


def _wandb(folder: Path, files: dict[str, Path]) -> list[float]:
    folder.mkdir()
    try:
        return peer_seconds("wandb_peer.py", str(folder), [files["first"], files["next"]])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _told(one: dict[str, Any]) -> str:
    sent = f", {one['sent_bytes'] / one['size']:.1%} of the bytes sent" if "size" in one else ""
    return f"{one['seconds']:.2f} s{sent}, {one['memory_mib']:.0f} MiB of memory, {one['cpu_seconds']:.1f} s of a core"


def figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
