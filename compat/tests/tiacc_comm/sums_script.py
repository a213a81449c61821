"""Every kind of all_reduce, after `init_tiacc_training` and by torch itself: who answered, and whether it is equal."""

import json
import os
import sys

import torch
import torch.distributed as dist

import tiacc_training.torch.distributed as tdist

by_torch = dist.all_reduce
tdist.init_tiacc_training()
LARGE = 1_100_003  # above the least size in every type, and odd
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
part = dist.new_group([0, 1])
SUM, AVG, MAX = dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX
random = torch.randn(LARGE, generator=torch.Generator().manual_seed(rank))


class Own(torch.Tensor):
    """Like DTensor: what all_reduce means for it is its own affair."""


CASES = {
    "sum": (random, SUM, {}),
    "average": (random, AVG, {}),
    "double": (random.double(), SUM, {}),
    "bf16": (random.bfloat16(), AVG, {}),
    "two dimensions, turned": (random[:-3].view(-1, 8).t(), SUM, {}),
    "parameter": (torch.nn.Parameter(random), SUM, {}),
    "default group by name": (random, SUM, {"group": dist.group.WORLD}),
    "small": (random[:100], SUM, {}),
    "whole numbers": (torch.arange(LARGE) + rank, SUM, {}),
    "maximum": (random, MAX, {}),
    "complex": (torch.complex(random, random), SUM, {}),
    "another group": (random, SUM, {"group": part}),
    "subclass": (random.as_subclass(Own), SUM, {}),
}


def run(all_reduce, tensor, op, kwargs):
    with torch.no_grad():
        own = tensor.clone(memory_format=torch.preserve_format)
    work = all_reduce(own.detach(), op, async_op=True, **kwargs)
    work.wait()
    work.wait()  # scripts do
    return own.detach(), type(work).__module__.startswith("danlu_accel")


answer = {}
for name, (tensor, op, kwargs) in CASES.items():
    (expected, _), (found, is_ours) = (run(each, tensor, op, kwargs) for each in (by_torch, dist.all_reduce))
    in_step = tensor.detach().clone()
    assert dist.all_reduce(in_step, op, **kwargs) is None
    is_equal = torch.equal(expected, found) and torch.equal(expected, in_step)
    answer[name] = {"is_ours": is_ours, "is_equal": is_equal}

work = dist.all_reduce(later := random.clone(), async_op=True)
(value,) = work.get_future().wait()
answer["future"] = bool(torch.equal(value, later))
compiled = torch.compile(lambda x: dist.all_reduce(x) or x * 2, backend="eager")
answer["compiled"] = bool(torch.equal(compiled(torch.full((LARGE,), 1.0 + rank)), torch.full((LARGE,), 6.0)))
tdist.shutdown_tiacc_training()
answer["undone"] = dist.all_reduce is by_torch and dist.distributed_c10d.all_reduce is by_torch
with open(f"{sys.argv[1]}.{rank}", "w") as file:
    json.dump(answer, file)
dist.barrier()
os._exit(0)
