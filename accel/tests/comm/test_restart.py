"""Groups that begin again: torchrun restarts them after a death, or the ranks that are left do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from danlu.testing.ports import free_port
from danlu.testing.waiting import HANG_SECONDS

HERE = Path(__file__).parent
SCRIPT = HERE / "restart_script.py"
STEPS, RANKS = 6, 4


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.long)], ids=["one agent", "two agents"])
def trained(request, tmp_path_factory):
    """Run the script under torchrun until it has ended well: two hosts of two ranks under one agent, or one each."""
    folder, num_agents = tmp_path_factory.mktemp("restart"), request.param
    words = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={num_agents}"]
    # Agents that notice the death at different times interrupt each other's new beginning, so two get more of them.
    words += [f"--nproc-per-node={RANKS // num_agents}", f"--max-restarts={1 if num_agents == 1 else 4}"]
    words += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--local-addr=127.0.0.1"]
    words += ["--monitor-interval=0.5", str(SCRIPT), str(folder)]
    paths = [str(HERE), str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    # torchrun's own store still has the addresses of the attempt before, and gloo's ranks would call those
    own_store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    environment = {**os.environ, **own_store, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    agents = []
    try:
        for number in range(num_agents):
            with (folder / f"agent.{number}").open("w") as file:
                agents.append(subprocess.Popen(words, env=environment, stdout=file, stderr=subprocess.STDOUT))
        codes = [agent.wait(HANG_SECONDS) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
    said = "\n".join((folder / f"agent.{number}").read_text()[-4000:] for number in range(num_agents))
    assert codes == [0] * num_agents, said
    return folder


@pytest.fixture(scope="module")
def attempts(trained):
    """What every rank said when it had attached, by whether it was the first time."""
    found = [json.loads(path.read_text()) for path in trained.glob("attempt.*")]
    return [each for each in found if each["first"] == 0], [each for each in found if each["first"] > 0]


class TestTorchrunRestarts:
    def test_the_group_attaches_again_and_trains_on_from_its_checkpoint(self, trained, attempts):
        before, after = attempts
        assert len(before) == RANKS
        assert len(after) >= RANKS
        assert all(each["hosts"] == [[0, 1], [2, 3]] for each in after)
        for rank in range(RANKS):
            answer = json.loads((trained / f"answer.{rank}").read_text())
            assert torch.allclose(torch.tensor(answer["weights"]), trained_by_one(), atol=1e-5)
            assert answer["sum"] == 0 + 1 + 2 + 3

    def test_nothing_of_the_first_attempt_is_left(self, attempts):
        before, after = attempts
        names = [{name for each in attempt for name in each["sockets"]} for attempt in (before, after)]
        assert all(names)  # who was called has the listener's name; callers have none
        assert not names[0] & names[1]
        left = Path("/proc/net/unix").read_text()
        assert not [name for name in names[0] | names[1] if name in left]
        for each in before + after:
            assert not Path(f"/proc/{each['pid']}").exists()


def test_the_ranks_that_are_left_attach_again_without_the_one_that_died(run_ranks, tmp_path):
    answers = run_ranks("begins_again", "aabb", who=3, store=str(tmp_path / "store"))
    for answer in answers[:3]:
        assert answer == {"raised": "PeerLostError", "hosts": [[0, 1], [2]], "is_equal": True, "num_threads": 1}


def trained_by_one() -> torch.Tensor:
    """What all ranks would have without a restart: one process with all batches."""
    sys.path.insert(0, str(HERE))
    from rank_tools import Net, batch

    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        sum(net(batch(step, rank)).square().mean() / RANKS for rank in range(RANKS)).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(net.parameters()).detach()
