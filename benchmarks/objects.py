"""Speed of objects through Danlu to an S3 service, for users and for jobs, and the memory that takes.

Compared in the same run, alternately, with the same server (`rclone serve s3`) and the same files: plain obstore,
boto3 and the aws command line; then the first upload of an artifact against MLflow's. All but obstore have their own
virtual environments. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

from danlu.store.objects.s3_place import S3Place
from danlu.testing.s3 import BUCKET, running_rclone
from danlu.testing.serving import RunningServer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "objects"))
sys.path.insert(0, str(HERE / "artifacts"))
from first_upload import measure_first_upload  # noqa: E402
from stage_in import compare  # noqa: E402

PEERS = HERE.parent / ".bench"
BOTO3, AWS = "boto3==1.44.0", "awscli==1.46.2"
LARGE_BYTES = 1 << 30
ARTIFACT_BYTES = 2 << 30
NUM_SMALL, SMALL_BYTES = 2000, 10_000
MIB = 1 << 20


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    rounds = 5 if options.quick else 11
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    try:
        _make_folders(folder / "s3" / BUCKET, rounds)
        with running_rclone(folder / "s3") as s3:
            server = RunningServer(folder / "data")
            server.env = _settings(s3.place)
            server.start()
            try:
                figures = measure_small(server, s3.place, folder, rounds=rounds, options=options)
                figures += measure_large(server, folder, options.large_mib << 20)
                figures += measure_stage_in(server, s3.place, folder, rounds=max(3, rounds // 2))
            finally:
                server.stop()
        if not options.no_peers:
            figures += measure_first_upload(
                folder / "artifact", ARTIFACT_BYTES, 3 if options.quick else 5, ways=["sdk"]
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for figure in figures:
        print(f"{figure['name']:<56} {figure['value']:>10.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "objects", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--no-peers", action="store_true", help="leave boto3, the aws command line and MLflow out")
    parser.add_argument("--large-mib", type=int, default=LARGE_BYTES >> 20, help="size of the large file")
    return parser.parse_args()


def _settings(place: S3Place) -> dict[str, str]:
    return {
        "DANLU_SERVER_OBJECTS_URL": f"s3://{place.bucket}/danlu",
        "DANLU_SERVER_S3_ENDPOINT": place.endpoint,
        "DANLU_SERVER_S3_ACCESS_KEY_ID": place.access_key_id,
        "DANLU_SERVER_S3_SECRET_ACCESS_KEY": place.secret_access_key,
    }


def _make_folders(bucket: Path, rounds: int) -> None:
    """Create all folders first: rclone loses files if many requests create a folder at the same time."""
    for number in range(rounds):
        for name in ("danlu/store/main/danlu", "obstore", "boto3", "aws"):
            (bucket / name / str(number)).mkdir(parents=True)


def measure_small(
    server: RunningServer, place: S3Place, folder: Path, *, rounds: int, options: argparse.Namespace
) -> list[dict[str, object]]:
    """Copy files from a folder to the store and back to another folder, alternating between clients."""
    source = folder / "small"
    source.mkdir()
    chance = random.Random(1)
    for number in range(NUM_SMALL):
        (source / f"{number:05d}.bin").write_bytes(chance.randbytes(SMALL_BYTES))
    clients = {"danlu": _danlu(server), "obstore": _script("obstore_small.py", Path(sys.executable), place)}
    if not options.no_peers:
        clients["boto3"] = _script("boto3_small.py", _environment("boto3", BOTO3), place)
        clients["aws"] = _aws(place)
    seconds: dict[tuple[str, str], list[float]] = {}
    order = list(clients)
    for number in range(rounds):
        order.append(order.pop(0))  # rotate, so that no client always follows the same one
        for name in order:
            move, target = clients[name], folder / f"{name}-{number}"
            for way in ("up", "down"):
                took = move(way, f"{name}/{number}", source if way == "up" else target)
                seconds.setdefault((name, way), []).append(took)
                print(f"round {number}: {name} {way} {took:.2f} s")
            _check_same(source, target)
            shutil.rmtree(target)
    best = {key: statistics.median(times) for key, times in seconds.items()}
    figures: list[dict[str, object]] = []
    for way in ("up", "down"):
        figures.append(_figure(f"{NUM_SMALL} small files {way}, per second", NUM_SMALL / best["danlu", way]))
        for name in list(clients)[1:]:
            ratio = best[name, way] / best["danlu", way]
            gate, goal = (0.6, 0.8) if name == "obstore" else (None, None)
            figures.append(_figure(f"small files {way}, danlu / {name}", ratio, gate, goal))
    return figures


def measure_large(server: RunningServer, folder: Path, size: int) -> list[dict[str, object]]:
    """Copy one large file up and down; measure the memory of the client process and of the server."""
    file = folder / "large.bin"
    with file.open("wb") as out:
        block = random.Random(2).randbytes(MIB)
        for number in range(size // MIB):
            out.write(number.to_bytes(8, "big") + block[8:])
    figures: list[dict[str, object]] = []
    for way in ("up", "down"):
        target = file if way == "up" else folder / "back.bin"
        _forget_peak(server.pid)
        before = _memory(server.pid, "VmRSS")
        done = _run_danlu(server, way, "main/large.bin", target)
        grown = _memory(server.pid, "VmHWM") - before
        figures += [
            _figure(f"1 GiB {way}, MiB per second", size / MIB / done["seconds"]),
            _figure(f"1 GiB {way}, client's memory grows by MiB", done["grown_bytes"] / MIB, "< 100", "< 100"),
            _figure(f"1 GiB {way}, server's memory grows by MiB", grown / MIB, "< 100", "< 100"),
        ]
    if subprocess.run(["cmp", str(file), str(folder / "back.bin")], check=False).returncode != 0:
        raise RuntimeError("the large file came back different")
    return figures


def measure_stage_in(server: RunningServer, place: S3Place, folder: Path, *, rounds: int) -> list[dict[str, object]]:
    """Use the stored files as inputs of jobs: through the server, then directly by grants."""

    def peer_small(target: Path) -> float:
        return _script("obstore_small.py", Path(sys.executable), place)("down", "obstore/0", target)

    def peer_large(target: Path) -> float:
        script = str(HERE / "objects" / "obstore_large.py")
        command = [sys.executable, script, "danlu/store/main/large.bin", str(target), place.endpoint, place.bucket]
        return float(_last_json(command, _keys(place))["seconds"])

    figures: list[dict[str, object]] = []
    small, large = "store://main/danlu/0/", "store://main/large.bin"
    ours, theirs = compare(server, small, peer_small, folder=folder, rounds=rounds)
    figures.append(_figure(f"stage-in of {NUM_SMALL} small files, danlu / obstore", theirs / ours, 0.6, 0.9))
    ours, theirs = compare(server, large, peer_large, folder=folder, rounds=rounds)
    figures.append(_figure("stage-in of 1 GiB through the server, danlu / obstore", theirs / ours))
    server.stop()
    server.env["DANLU_SERVER_DIRECT_TRANSFERS"] = "true"
    server.start()
    ours, theirs = compare(server, large, peer_large, folder=folder, rounds=rounds)
    figures.append(_figure("stage-in of 1 GiB by grants, danlu / obstore", theirs / ours, 0.6, 0.9))
    return figures


def _figure(name: str, value: float, gate: object = None, goal: object = None) -> dict[str, object]:
    return {"name": name, "value": value, "gate": gate, "goal": goal}


Mover = Callable[[str, str, Path], float]


def _danlu(server: RunningServer) -> Mover:
    def move(way: str, prefix: str, folder: Path) -> float:
        return float(_run_danlu(server, way, f"main/{prefix}/", folder)["seconds"])

    return move


def _run_danlu(server: RunningServer, way: str, remote: str, local: Path) -> dict[str, float]:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    return _last_json([sys.executable, str(HERE / "objects" / "danlu_move.py"), way, remote, str(local)], env)


def _script(name: str, python: Path, place: S3Place) -> Mover:
    def move(way: str, prefix: str, folder: Path) -> float:
        command = [str(python), str(HERE / "objects" / name), way, prefix, str(folder), place.endpoint, place.bucket]
        return float(_last_json(command, _keys(place))["seconds"])

    return move


def _aws(place: S3Place) -> Mover:
    aws = _environment("aws", AWS).with_name("aws")
    env = {**_keys(place), "AWS_DEFAULT_REGION": place.region, "AWS_EC2_METADATA_DISABLED": "true"}

    def move(way: str, prefix: str, folder: Path) -> float:
        remote = f"s3://{place.bucket}/{prefix}/"
        ends = (f"{folder}/", remote) if way == "up" else (remote, f"{folder}/")
        command = [str(aws), "s3", "cp", "--recursive", "--only-show-errors", "--endpoint-url", place.endpoint, *ends]
        began = time.monotonic()
        subprocess.run(command, env=env, check=True)
        return time.monotonic() - began

    return move


def _keys(place: S3Place) -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": place.access_key_id, "AWS_SECRET_ACCESS_KEY": place.secret_access_key}
    return {**os.environ, **keys}


def _last_json(command: list[str], env: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[1]} failed with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _environment(name: str, package: str) -> Path:
    """Return the Python of a virtual environment with this package."""
    home = PEERS / name
    python = home / "bin" / "python"
    ready = home / package
    if not ready.exists():
        print(f"installing {package} into {home}")
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package], check=True)
        ready.touch()
    return python


def _check_same(source: Path, target: Path) -> None:
    if subprocess.run(["diff", "-rq", str(source), str(target)], check=False).returncode != 0:
        raise RuntimeError(f"{target} is not what was sent")


def _memory(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} of process {pid}")


def _forget_peak(pid: int) -> None:
    """Reset the peak memory of a process."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
