"""A DDP script as people have them; two lines of TI-ACC at the top, nothing else of ours."""

import json
import os
import sys

import tiacc_training.torch.distributed as tdist

tdist.init_tiacc_training()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: E402, N817

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(torch.nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(11):
    optimizer.zero_grad()
    model(torch.full((2, 6), float(rank + step))).square().mean().backward()
    optimizer.step()

large = torch.arange(2 * 300_000, dtype=torch.float32).view(2, -1) + rank
dist.all_reduce(large)
turned = torch.full((600, 1000), 3.0 + rank).t()  # not contiguous
work = dist.all_reduce(turned, async_op=True)
work.wait()
small, whole = torch.tensor([1.5 + rank]), torch.tensor([2**40 + rank])
dist.all_reduce(small)
dist.all_reduce(whole)
highest = torch.full((300_000,), float(rank))
dist.all_reduce(highest, op=dist.ReduceOp.MAX)
sums = [float(large[1, 7]), float(turned.min()), float(turned.max()), float(small), int(whole), float(highest.min())]

(taken, attachment) = model._comm_hooks[0]
answer = {
    "weights": [float(value) for value in model.module.weight.detach().flatten()],
    "hook": taken.__module__,
    "explain": attachment.explain(),
    "algorithms": [each.algorithm for each in attachment.stats()],
    "decided": attachment.stats()[-1].algorithm,
    "streams": attachment.settings.num_streams,
    "sums": sums,
    "sum_by": type(work).__module__,
    "bucket_bytes": model.bucket_bytes_cap,
}
with open(f"{sys.argv[1]}.{rank}", "w") as file:
    json.dump(answer, file)
dist.barrier()
os._exit(0)
