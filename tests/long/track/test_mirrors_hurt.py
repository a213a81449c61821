"""Mirrors as senders: a script that speaks to TensorBoard, W&B or PyTorch alone is killed, its companion is killed, its
disk is full, its connections end. It never raises, and what was acknowledged is on the server, once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.conftest import small_disk
from tests.long.track.test_companion_killed import wait_for_companion
from tests.long.track.test_senders_hurt import environment, let_work
from tests.support.bad_line import BadLine
from tests.support.venvs import venv_with

from danlu.client.tracking.runs import Run
from danlu.testing.disks import SmallDisk
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = pytest.mark.long
__all__ = ["small_disk"]  # a fixture
NUM_STEPS, HELD_AT, PICTURE_EVERY, NUM_KILLS = 600, 400, 50, 4
PEERS = ("wandb", "tensorboardX", "pillow")

BEGIN = """
import sys, time
import numpy
from danlu import track
from danlu.track import ending

def tell(step):
    if step % 20 == 0:
        ending.newest().flush()
        print(step, flush=True)
    if str(step) == sys.argv[2]:
        sys.stdin.readline()
    time.sleep(0.005)

steps = range(int(sys.argv[1]))
pixels = numpy.zeros((40, 50, 3), dtype=numpy.uint8)
"""
SUMMARY_WRITER = f"""
with track.mirror_tensorboard(), SummaryWriter("events") as writer:
    for step in steps:
        if step % {PICTURE_EVERY} == 0:
            writer.add_image("picture", pixels, step, dataformats="HWC")
        writer.add_scalar("loss", step, step)
        tell(step)
"""
WANDB = f"""
import wandb
with track.mirror_wandb(), wandb.init(project="hurt", name="wandb") as run:
    for step in steps:
        if step % {PICTURE_EVERY} == 0:
            run.log({{"picture": wandb.Image(pixels)}}, step=step)
        run.log({{"loss": step}}, step=step)
        tell(step)
"""
AUTOLOG = """
import torch
weight = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([weight], lr=1.0)
with track.autolog(every=1):
    for step in steps:
        (weight * 0 + step).sum().backward()
        optimizer.step()
        tell(step)
"""
SCRIPTS = {
    "tensorboard": "from torch.utils.tensorboard import SummaryWriter\n" + SUMMARY_WRITER,
    "tensorboardX": "from tensorboardX import SummaryWriter\n" + SUMMARY_WRITER,
    "wandb": WANDB,
    "autolog": AUTOLOG,
}


class Training:
    """One process. What it says that it has is in the file of its run: it has flushed, and there was room."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.acknowledged = -1

    def come_to(self, step: int) -> None:
        assert self.child.stdout is not None
        while self.acknowledged < step:
            line = self.child.stdout.readline()
            assert line, "it ended"
            self.acknowledged = int(line)

    def go_on(self) -> None:
        """Past the step at which it is held."""
        assert self.child.stdin is not None
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def kill(self, *, had_room: bool = True) -> None:
        self.child.kill()
        out, _ = self.child.communicate()
        if had_room:
            self.acknowledged = max([self.acknowledged, *map(int, out.split())])

    def to_its_end(self) -> None:
        out, _ = self.child.communicate()
        assert self.child.returncode == 0
        self.acknowledged = max([self.acknowledged, *map(int, out.split())])
        assert self.acknowledged == NUM_STEPS - 20

    @property
    def was_killed(self) -> bool:
        return self.child.returncode == -signal.SIGKILL


class Trainings:
    """Processes of one script, one after the other."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.made: list[Training] = []
        self.runtime = folder / "runtime"
        self._folder = folder
        self._has_pictures = kind != "autolog"
        # what the peers need is not in everyday tests; PyTorch is, and its environment is large
        python = venv_with("peers", *PEERS) if kind in PEERS else Path(sys.executable)
        self._command = [str(python), "-c", BEGIN + SCRIPTS[kind], str(NUM_STEPS)]

    def start(self, server: RunningServer, *, url: str = "", runs: str = "", is_held: bool = False) -> Training:
        own = {"DANLU_URL": url or server.url, "DANLU_API_KEY": server.api_key, "DANLU_RUNS_DIR": runs}
        peer = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
        child = subprocess.Popen(
            [*self._command, str(HELD_AT) if is_held else ""],
            cwd=self._folder,
            env=environment(self._folder, **own, **peer),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.made.append(Training(child))
        return self.made[-1]

    def check(self, server: RunningServer) -> None:
        """Every process has a run; all that it has acknowledged is in it, and nothing twice."""
        wait_until(lambda: not list(self.runtime.rglob("orders/*.json")))
        with server.client() as client:
            # the newest is first
            runs = [client.runs.get(one.id) for one in client.runs.list()][::-1]
            assert len(runs) == len(self.made)
            for training, run in zip(self.made, runs):
                state = "died" if training.was_killed else "finished"
                wait_until(lambda run=run, state=state: run.refresh().details.state == state)  # type: ignore[misc]
                self._check_run(training, run)

    def _check_run(self, training: Training, run: Run) -> None:
        points = run.points("train/loss")
        num_steps = len(points.step)
        assert points.step == list(range(num_steps))
        assert points.value == list(range(num_steps))
        assert training.acknowledged < num_steps
        if not training.was_killed:
            assert num_steps == NUM_STEPS
        pictures = [one for one in run.media() if one.kind == "image"]
        found = sorted(one.step for one in pictures if one.step is not None)
        # one may have been written between its step's value and the end
        wanted = list(range(0, num_steps + 1, PICTURE_EVERY)) if self._has_pictures else []
        assert found == wanted[: len(found)]
        assert len(found) >= len([step for step in wanted if step < num_steps])
        assert len({run.read_media(one) for one in pictures}) == (1 if pictures else 0), "all are whole"


@pytest.fixture(params=list(SCRIPTS))
def trainings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trainings]:
    made = Trainings(str(request.param), tmp_path)
    yield made
    for one in made.made:
        one.child.kill()
        one.child.communicate()


def test_a_training_that_is_killed_and_started_again(
    make_server: Callable[..., RunningServer], trainings: Trainings
) -> None:
    server, chance = make_server(), random.Random(2)
    for _ in range(NUM_KILLS):
        training = trainings.start(server)
        training.come_to(chance.randrange(20, NUM_STEPS - 100, 20))
        let_work(chance.uniform(0, 0.3))
        training.kill()
    trainings.start(server).to_its_end()
    trainings.check(server)


def test_a_companion_that_is_killed_again_and_again(
    make_server: Callable[..., RunningServer], trainings: Trainings
) -> None:
    server = make_server()
    training = trainings.start(server, is_held=True)
    pid = 0
    for number in range(NUM_KILLS):
        training.come_to(100 * number + 20)
        pid = wait_for_companion(trainings.runtime, pid)
        os.kill(pid, signal.SIGKILL)
    wait_for_companion(trainings.runtime, pid)
    training.go_on()
    training.to_its_end()
    trainings.check(server)


def test_a_disk_without_room_while_the_server_is_away(
    make_server: Callable[..., RunningServer],
    small_disk: Callable[[Path, str], SmallDisk],
    trainings: Trainings,
    tmp_path: Path,
) -> None:
    """At the beginning, twice in the middle, and while it is killed."""
    server = make_server()
    line = BadLine(server.url)
    disk = small_disk(tmp_path / "small", "32m")
    runs = str(disk.path / "runs")
    try:
        disk.fill()
        training = trainings.start(server, url=line.url, runs=runs, is_held=True)
        for step in (40, 120):
            training.come_to(step)
            line.go()
            let_work(1)
            disk.empty()
            let_work(0.5)
            line.come()
            disk.fill()
        disk.empty()
        training.go_on()
        training.to_its_end()
        killed = trainings.start(server, url=line.url, runs=runs)
        killed.come_to(100)
        disk.fill()
        line.go()
        let_work(0.5)
        killed.kill(had_room=False)
        let_work(2)
        disk.empty()
        line.come()
        trainings.check(server)
    finally:
        line.go()


def test_over_a_line_that_ends_connections(make_server: Callable[..., RunningServer], trainings: Trainings) -> None:
    server = make_server()
    line = BadLine(server.url)
    line.idle_seconds = 0.01
    line.cut("request", 0.1, 20_000)
    line.cut("answer", 0.1, 2_000)
    try:
        for _ in range(2):
            trainings.start(server, url=line.url).to_its_end()
        trainings.check(server)
        assert line.closed.acquire(blocking=False), "a connection was idle"
    finally:
        line.go()
