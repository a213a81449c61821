"""Start real ranks in the lab's hosts, with torchrun or mpirun."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comm_lab.network import Host

WORKER = Path(__file__).with_name("worker.py")
SOURCES = Path(__file__).parents[2] / "accel" / "src"
BENCHMARKS = Path(__file__).parents[1]
PORT = 29533
Hosts = tuple[Host, Host]


def torchrun(hosts: Hosts, ranks_per_host: int, request: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Run the worker on both hosts with consecutive ranks per host; return the results of rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        started = []
        for index, host in enumerate(hosts):
            words = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={index}"]
            words += [
                f"--nproc-per-node={ranks_per_host}",
                f"--master-addr={hosts[0].address}",
                f"--master-port={PORT}",
            ]
            words += [str(WORKER), json.dumps(dict(request)), str(answer)]
            started.append(_start(host.command(*words), _environment(host, hosts)))
        return _collect(started, answer, timeout)


def mpirun(hosts: Hosts, ranks_per_host: int, request: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Run the worker with mpirun, with ranks distributed round-robin (`--map-by node`)."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        agent = Path(folder) / "agent"
        agent.write_text(_agent(hosts))
        agent.chmod(agent.stat().st_mode | stat.S_IEXEC)
        places = ",".join(f"{host.address}:{ranks_per_host}" for host in hosts)
        words = ["mpirun", "--allow-run-as-root", "-np", str(2 * ranks_per_host), "-H", places, "--map-by", "node"]
        words += ["--bind-to", "none", "--oversubscribe", "--mca", "plm_rsh_agent", str(agent)]
        words += ["--mca", "oob_tcp_if_include", "10.77.41.0/24", "--mca", "btl_tcp_if_include", "10.77.41.0/24"]
        words += ["-x", "MASTER_ADDR", "-x", "MASTER_PORT", "-x", "PYTHONPATH", "-x", "OMP_NUM_THREADS"]
        words += [sys.executable, str(WORKER), json.dumps(dict(request)), str(answer)]
        environment = _environment(hosts[0], hosts)
        environment.pop("GLOO_SOCKET_IFNAME")
        return _collect([_start(hosts[0].command(*words), environment)], answer, timeout)


def has_mpirun() -> bool:
    return shutil.which("mpirun") is not None


def _agent(hosts: tuple[Host, Host]) -> str:
    """Return a script that mpirun calls instead of ssh: its first argument is the host, the rest is the command."""
    cases = "\n".join(f"  {host.address}) space={host.namespace};;" for host in hosts)
    return f'#!/bin/sh\nwhere=$1; shift\ncase "$where" in\n{cases}\nesac\nexec ip netns exec "$space" sh -c "$*"\n'


def _environment(host: Host, hosts: tuple[Host, Host]) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCES), str(BENCHMARKS)]),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": host.interface,
        "MASTER_ADDR": hosts[0].address,
        "MASTER_PORT": str(PORT),
        "PYTHONWARNINGS": "ignore",
    }


def _start(words: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _collect(started: list[subprocess.Popen[str]], answer: Path, timeout: float) -> dict[str, Any]:
    outputs = []
    try:
        for process in started:
            outputs.append(process.communicate(timeout=timeout)[0])
    except subprocess.TimeoutExpired as error:
        raise SystemExit(f"comm_lab: the ranks did not end within {timeout:g} s") from error
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
    if not answer.exists():
        raise SystemExit("comm_lab: the ranks failed:\n" + "\n".join(outputs)[-4000:])
    measured: dict[str, Any] = json.loads(answer.read_text())
    return measured
