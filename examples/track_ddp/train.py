"""Two ranks train a small network on images that are made here, and rank 0's run tells how it goes.

    torchrun --nproc-per-node 2 train.py

No `if rank == 0` around the tracker: on other ranks the run is silent.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from danlu import track


class Net(nn.Module):
    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(channels * 16, features),
            nn.ReLU(),
            nn.Linear(features, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)


def make_images(count: int, seed: int) -> TensorDataset:
    """Ten patterns of 8×8 pixels in noise: a data set that needs no download."""
    patterns = torch.randn(10, 1, 8, 8, generator=torch.Generator().manual_seed(7))
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=chance)
    return TensorDataset(patterns[labels] + 1.5 * torch.randn(count, 1, 8, 8, generator=chance), labels)


@torch.no_grad()
def evaluate(model: nn.Module, data: TensorDataset) -> dict[str, float]:
    images, labels = data.tensors
    outputs = model(images)
    accuracy = (outputs.argmax(1) == labels).float().mean().item()
    return {"loss": nn.functional.cross_entropy(outputs, labels).item(), "accuracy": accuracy}


def main() -> None:
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    hparams = {
        "batch_size": 32 * world_size,
        "epochs": int(os.environ.get("EPOCHS", "3")),
        "learning_rate": 0.002 * world_size,
        "learning_rate_decay_factor": 0.7,
        "conv_channels": 8,
        "linear_features": 32,
        "seed": 1,
    }
    run = track.start("images_ddp", hparams, folder="examples", labels=["ddp", "torch"])

    torch.manual_seed(hparams["seed"])
    train_data, val_data, test_data = make_images(2048, seed=1), make_images(512, seed=2), make_images(512, seed=3)
    model = DistributedDataParallel(Net(hparams["conv_channels"], hparams["linear_features"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=hparams["learning_rate_decay_factor"])
    sampler = DistributedSampler(train_data, world_size, rank, seed=hparams["seed"])
    loader = DataLoader(train_data, batch_size=hparams["batch_size"] // world_size, sampler=sampler)
    run.total_steps(hparams["epochs"] * len(loader))

    step = 0
    for epoch in range(1, hparams["epochs"] + 1):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            step += 1
            run.log("train", {"loss": loss}, step=step, epoch=epoch)
        scheduler.step()
        run.log("val", evaluate(model.module, val_data), step=step, epoch=epoch)
    result = evaluate(model.module, test_data)
    run.log("test", result, step=step)
    run.summary["accuracy"] = result["accuracy"]
    run.log_histogram("weights", model.module.layers[0].weight, step=step)
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
        print(f"accuracy {result['accuracy']:.3f}, run {run.id} in {run.path}", flush=True)
    trained = track.artifact("examples/images_ddp", labels=["ddp"], description="after the last epoch")
    run.mark_output(trained.add_file("model.pt"))
    run.finish()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
