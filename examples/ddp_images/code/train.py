"""Train a small image classifier on every node with PyTorch DDP, and track it.

Training itself is plain PyTorch. `track` gives ranks other than 0 a run that says nothing: no line asks for the rank.
"""

import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import shapes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from danlu import track

DATA = Path(os.environ["DANLU_DATA_DIR"]) / "shapes"
MODEL = Path(os.environ["DANLU_MODEL_DIR"])
PARAMETERS = json.loads(Path(os.environ["DANLU_HYPERPARAMETERS"]).read_text())


def find_data() -> Path:
    """The data set that the job was given, or one that is drawn here: the same on every rank."""
    if DATA.exists():
        return DATA
    drawn = Path(tempfile.mkdtemp())
    shapes.write(drawn, seed=PARAMETERS["seed"])
    return drawn


def load(file: Path) -> TensorDataset:
    with np.load(file) as arrays:
        images = torch.from_numpy(arrays["images"]).float().sub(100).div(50).unsqueeze(1)
        return TensorDataset(images, torch.from_numpy(arrays["labels"]).long())


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 4),
    )


def evaluate(model: nn.Module, data: TensorDataset) -> float:
    model.eval()
    with torch.no_grad():
        images, labels = data.tensors
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(PARAMETERS["seed"])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.uname().nodename}, master {os.environ['MASTER_ADDR']}", flush=True)
    data = find_data()
    train, test = load(data / "train.npz"), load(data / "test.npz")
    sampler: DistributedSampler = DistributedSampler(train, shuffle=True, seed=PARAMETERS["seed"])
    loader = DataLoader(train, batch_size=PARAMETERS["batch_size"], sampler=sampler)
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=PARAMETERS["lr"])
    run = track.start("shapes", hparams=PARAMETERS)
    for epoch in range(PARAMETERS["epochs"]):
        sampler.set_epoch(epoch)
        began, total = time.perf_counter(), 0.0
        for batch, (images, labels) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
            run.log("train", {"loss": loss.item()}, step=epoch * len(loader) + batch + 1, epoch=epoch + 1)
        mean = torch.tensor(total)
        dist.all_reduce(mean)
        seconds = time.perf_counter() - began
        loss_of_all, accuracy = mean.item() / world, evaluate(model, test)
        print(f"epoch {epoch + 1}: loss {loss_of_all:.4f}, accuracy {accuracy:.1%}", flush=True)
        values = {"loss": loss_of_all, "accuracy": accuracy, "images_per_second": len(train) / seconds}
        run.log("test", values, step=(epoch + 1) * len(loader), epoch=epoch + 1)
    run.finish()
    if rank == 0:
        torch.save(model.module.state_dict(), MODEL / "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
