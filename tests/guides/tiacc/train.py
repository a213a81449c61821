"""A few lines of TI-ACC in a DDP script: records, the exchange between machines, mixed precision where it is safe."""

import os
import pathlib

import tiacc_training.torch
import tiacc_training.torch.distributed as tdist

tdist.init_tiacc_training()

import numpy  # noqa: E402
import torch  # noqa: E402
import torch.cuda.amp as amp  # noqa: E402, PLR0402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.utils.data import DataLoader, DistributedSampler  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
# the first of them packed the images, the others have them only after this
records = [None]
place = os.path.join(os.environ["DANLU_OUTPUT_DIR"], "val_demo")
if rank == 0:
    records = [{end: pathlib.Path(place + end).read_bytes() for end in (".tfrecord", ".idx", ".index")}]
dist.broadcast_object_list(records)
folder = f"/tmp/records-{rank}"
os.makedirs(folder)
for end, content in records[0].items():
    with open(f"{folder}/val_demo{end}", "wb") as file:
        file.write(content)


def transform(picture):
    return torch.from_numpy(numpy.asarray(picture.resize((16, 16)), dtype=numpy.float32) / 255).permute(2, 0, 1)


train_dataset = tiacc_training.torch.tiacc_torch_warp.IndexTFRDataset(folder, f"{folder}/val_demo.index", transform)
loader = DataLoader(train_dataset, batch_size=2, sampler=DistributedSampler(train_dataset, shuffle=False))
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = amp.GradScaler()
policy = tiacc_training.torch.tiacc_torch_warp.MixedPrecision_TrainingPolicy(0, 1, 1, 3)
loss, enabled = None, []
for epoch in range(4):
    mixed_precision = policy.enable_mixed_precision(epoch, 0.1, loss, scaler=scaler)
    enabled.append(mixed_precision)
    for images, labels in loader:
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed_precision):
            outputs = model(images)
            loss = torch.nn.functional.cross_entropy(outputs.float(), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
total = torch.ones(600_000)
dist.all_reduce(total)
weights = model.module[1].weight.detach().double().sum()
others = [torch.zeros_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(others, weights)
told = model._comm_hooks[0][1].explain()
print(
    f"rank {rank} of {dist.get_world_size()}: {len(train_dataset)} records, sum {total.max():g}, "
    f"weights {'equal' if len(set(map(float, others))) == 1 else 'differ'}, precision {enabled}, "
    f"2 hosts {'found' if 'hosts: 2 with 2, 2 ranks' in told else told}",
    flush=True,
)
dist.barrier()
os._exit(0)
