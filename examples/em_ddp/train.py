"""A script for TensorStack's experiment management, as its own guide writes them, unchanged: it runs on Danlu.

    torchrun --nproc-per-node 2 train.py

Rank 0 makes a Run, logs metrics by type, puts the checkpoint into an Artifact, marks it as the Run's output, and
uploads both to a folder. `danlu-compat` provides `t9k`; the address and the key are in `~/.t9k/t9k-config.yaml`, or in
AIS_HOST and API_KEY here.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from t9k import em


class Net(nn.Module):
    def __init__(self, hparams: dict[str, float]) -> None:
        super().__init__()
        channels, features = int(hparams["conv_channels1"]), int(hparams["linear_features1"])
        self.conv1 = nn.Conv2d(1, channels, int(hparams["conv_kernel_size"]), padding=1)
        self.pool = nn.MaxPool2d(int(hparams["maxpool_size"]))
        self.dense1 = nn.Linear(channels * 16, features)
        self.dense2 = nn.Linear(features, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.pool(self.conv1(images))).flatten(1)
        return self.dense2(torch.relu(self.dense1(hidden)))


def make_digits(count: int, seed: int) -> TensorDataset:
    """Ten patterns in noise: a data set that needs no download."""
    patterns = torch.randn(10, 1, 8, 8, generator=torch.Generator().manual_seed(7))
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=chance)
    return TensorDataset(patterns[labels] + 1.5 * torch.randn(count, 1, 8, 8, generator=chance), labels)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    hparams = {
        "batch_size": 32 * world_size,
        "epochs": int(os.environ.get("EPOCHS", "2")),
        "learning_rate": 0.001 * world_size,
        "learning_rate_decay_period": 1,
        "learning_rate_decay_factor": 0.7,
        "conv_channels1": 8,
        "conv_kernel_size": 3,
        "maxpool_size": 2,
        "linear_features1": 32,
        "seed": 1,
    }
    if rank == 0:
        run = em.create_run(name="mnist_torch_distributed", hparams=hparams)

    torch.manual_seed(int(hparams["seed"]))
    train_data, test_data = make_digits(1024, seed=1), make_digits(256, seed=2)
    model = DistributedDataParallel(Net(hparams))
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=hparams["learning_rate_decay_factor"])
    sampler = DistributedSampler(train_data, world_size, rank)
    loader = DataLoader(train_data, batch_size=int(hparams["batch_size"]) // world_size, sampler=sampler)

    def test(label: str, step: int, epoch: int) -> None:
        images, labels = test_data.tensors
        with torch.no_grad():
            outputs = model.module(images)
        loss = nn.functional.cross_entropy(outputs, labels).item()
        accuracy = (outputs.argmax(1) == labels).float().mean().item()
        if rank == 0:
            run.log(type=label, metrics={"loss": loss, "accuracy": accuracy}, step=step, epoch=epoch)

    global_step = 0
    for epoch in range(1, int(hparams["epochs"]) + 1):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            global_step += 1
            if rank == 0 and global_step % 4 == 0:
                run.log(type="train", metrics={"loss": loss.item()}, step=global_step, epoch=epoch)
        scheduler.step()
        test("val", global_step, epoch)
    test("test", global_step, int(hparams["epochs"]))

    if rank == 0:
        torch.save(model.module.state_dict(), "model_state_dict.pt")
        model_artifact = em.create_artifact(name="mnist_torch_saved_model")
        model_artifact.add_file("model_state_dict.pt")
        run.mark_output(model_artifact)

        run.finish()
        em.login(os.environ.get("AIS_HOST"), os.environ.get("API_KEY"))
        run.upload(folder="em-examples", make_folder=True)
    dist.destroy_process_group()
