"""A training script under torchrun: goes on from its checkpoint, and one rank is killed once. See test_restart."""

import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from rank_tools import SMALL, Net, batch
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu_accel import comm

STEPS, DIES_IN, LAST_RANK = 6, 3, 3
folder = Path(sys.argv[1])
torch.set_num_threads(1)


def socket_names() -> list[str]:
    """Names of the exchange's sockets that this process holds."""
    mine = {quiet_readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")}
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return sorted({row[7] for row in rows if len(row) > 7 and f"socket:[{row[6]}]" in mine and "danlu" in row[7]})


def quiet_readlink(path: str) -> str:
    """The descriptor that lists the others is gone by the time it is asked for."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


dist.init_process_group("gloo")
rank = dist.get_rank()
options = comm.Options(host_key=f"host {rank // 2}", piece_bytes=4096)
torch.manual_seed(0)
net = Net()
checkpoint = folder / "checkpoint"
first = 0
if checkpoint.exists():
    saved = torch.load(checkpoint)
    first = saved["step"] + 1
    net.load_state_dict(saved["net"])
dist.barrier()  # everybody has read it before rank 0 writes another
ddp = DDP(net, **SMALL)
exchange = comm.attach(ddp, algorithm="2d", options=options)
reducer = comm.AllReduce(comm.Settings("2d", options=options), torch.empty(5000))
attempt = {"pid": os.getpid(), "first": first, "sockets": socket_names(), "hosts": exchange.topology.hosts}
(folder / f"attempt.{rank}.{os.getpid()}").write_text(json.dumps(attempt))

optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(first, STEPS):
    if step == DIES_IN and first == 0 and rank == LAST_RANK:
        net.layers[0].weight.register_hook(lambda _grad: os.kill(os.getpid(), signal.SIGKILL))
    optimizer.zero_grad()
    ddp(batch(step, rank)).square().mean().backward()
    optimizer.step()
    if rank == 0:
        torch.save({"step": step, "net": net.state_dict()}, folder / "new")
        (folder / "new").rename(checkpoint)

ones = torch.full((5000,), float(rank))
comm.Sum(reducer, ones).wait()
weights = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
(folder / f"answer.{rank}").write_text(json.dumps({"weights": weights.tolist(), "sum": float(ones.max())}))
dist.barrier()
reducer.close()
exchange.close()
dist.destroy_process_group()
