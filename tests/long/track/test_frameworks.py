"""The callbacks with the real packages, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.venvs import ROOT, venv_with

import danlu
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals, points, read_run

PACKAGES = ("torch", "keras", "lightning", "transformers", "accelerate", "tensorboardX", "pillow")
pytestmark = pytest.mark.long

KERAS = """
import numpy, keras
from danlu import track
from danlu.track.keras import RunCallback

data, labels = numpy.random.rand(64, 4), numpy.random.rand(64, 1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
with track.start("keras") as run:
    callback = RunCallback(run, every_batches=2)
    model.fit(data, labels, batch_size=16, epochs=2, validation_split=0.25, callbacks=[callback], verbose=0)
    model.evaluate(data, labels, callbacks=[callback], verbose=0)
"""
LIGHTNING = """
import torch, lightning
from danlu import track
from danlu.track.lightning import RunLogger

class Line(lightning.LightningModule):
    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, _):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log("train_loss", loss)
        return loss
    def validation_step(self, batch, _):
        self.log("val/loss", self.layer(batch[0]).pow(2).mean())
    def test_step(self, batch, _):
        self.log("test_loss", self.layer(batch[0]).pow(2).mean())
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.lr)

loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 2)), batch_size=16)
with track.start("lightning") as run:
    trainer = lightning.Trainer(max_epochs=2, logger=RunLogger(run), log_every_n_steps=1, accelerator="cpu",
                                enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Line(), loader, loader)
    trainer.test(trainer.lightning_module, loader, verbose=False)
"""
HUGGING_FACE = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from danlu import track
from danlu.track.huggingface import RunCallback

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return {"input_ids": torch.arange(8), "labels": torch.tensor(index % 2)}

config = BertConfig(vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
with track.start("huggingface") as run:
    arguments = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=1,
                                  eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True)
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=Data(), eval_dataset=Data(),
                      callbacks=[RunCallback(run)])
    trainer.train()
"""
T9K_KERAS = """
import numpy, keras
from t9k import em
from t9k.em.keras import EMEvalCallback, EMFitCallback

data, labels = numpy.random.rand(64, 4), numpy.random.rand(64, 1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
run = em.create_run(name="keras")
model.fit(data, labels, batch_size=16, epochs=2, validation_split=0.25, callbacks=[EMFitCallback(run)], verbose=0)
model.evaluate(data, labels, callbacks=[EMEvalCallback(run)], verbose=0)
run.finish()
assert {type: len(found) for type, found in run.metrics.items()} == {"train": 2, "val": 2, "test": 1}
assert run.metrics["val"][1]["sequence"]["step"] == 6 and run.metrics["val"][1]["sequence"]["epoch"] == 2
assert run.hparams["optimizer"]["name"].lower() == "sgd" and run.hparams["lossType"] == "mse"
"""
T9K_LIGHTNING = (
    LIGHTNING.partition("with track.start")[0].replace("val/loss", "val_loss")
    + """
from t9k import em
from t9k.em.lightning import EMCallback

run = em.create_run(name="lightning")
trainer = lightning.Trainer(max_epochs=2, callbacks=[EMCallback(run)], logger=False, accelerator="cpu",
                            enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
trainer.fit(Line(), loader, loader)
trainer.test(trainer.lightning_module, loader, verbose=False)
run.finish()
assert {type: len(found) for type, found in run.metrics.items()} == {"train": 2, "val": 2, "test": 1}, run.metrics
assert [one["sequence"]["epoch"] for one in run.metrics["train"]] == [1, 2]
assert run.hparams["lr"] == 0.1 and run.status == "Complete"
"""
)
TENSORBOARD = """
import numpy, sys
from tensorboardX import SummaryWriter
writer = SummaryWriter(sys.argv[1])
for step in range(5):
    writer.add_scalar("val/loss", 1 / (step + 1), step)
    writer.add_scalar("speed", step, step)
writer.add_text("note", "hello")
writer.add_image("picture", numpy.zeros((3, 4, 5), dtype=numpy.uint8))
writer.add_histogram("weights", numpy.arange(10.0), 3)
writer.close()
"""


def run_script(script: str, folder: Path, *arguments: str) -> None:
    python = venv_with("frameworks", *PACKAGES)
    (folder / "script.py").write_text(script)
    search = f"{Path(danlu.__file__).parents[1]}:{ROOT / 'compat' / 'src'}"
    env = {**os.environ, "PYTHONPATH": search, "KERAS_BACKEND": "torch", "DANLU_TRACK": "offline"}
    command = [str(python), "script.py", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def logged(folder: Path) -> dict[tuple[str, str], list[int]]:
    """Steps per series."""
    (run,) = find_runs(str(folder / ".danlu"))
    assert read_run(run).state == "finished"
    found: dict[tuple[str, str], list[int]] = {}
    for one in open_journals(run):
        for point in points(one):
            if point.type != "system":
                found.setdefault((point.type, point.name), []).append(point.step)
    return found


def test_keras(tmp_path: Path) -> None:
    run_script(KERAS, tmp_path)
    found = logged(tmp_path)
    assert found["train", "loss"] == [2, 3, 5, 6]
    assert (found["val", "loss"], found["val", "mae"], found["test", "loss"]) == ([3, 6], [3, 6], [6])


def test_lightning(tmp_path: Path) -> None:
    run_script(LIGHTNING, tmp_path)
    found = logged(tmp_path)
    assert found["train", "loss"] == list(range(8))
    assert (found["val", "loss"], found["test", "loss"]) == ([3, 7], [8])
    (run,) = find_runs(str(tmp_path / ".danlu"))
    assert read_run(run).hparams == {"lr": 0.1}


def test_hugging_face(tmp_path: Path) -> None:
    run_script(HUGGING_FACE, tmp_path)
    found = logged(tmp_path)
    assert found["train", "loss"][:4] == [1, 2, 3, 4]
    assert found["val", "loss"] == [2, 4]
    (run,) = find_runs(str(tmp_path / ".danlu"))
    assert read_run(run).fields["total_steps"] == 4


def test_old_keras_callbacks(tmp_path: Path) -> None:
    run_script(T9K_KERAS, tmp_path)


def test_old_lightning_callback(tmp_path: Path) -> None:
    run_script(T9K_LIGHTNING, tmp_path)


def test_event_files_of_tensorboardx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from danlu import track

    run_script(TENSORBOARD, tmp_path, "events")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DANLU_TRACK", "offline")
    found = track.import_tensorboard("events")
    assert (found.num_points, found.num_media) == (10, 3)
    assert logged(tmp_path) == {("val", "loss"): [0, 1, 2, 3, 4], ("train", "speed"): [0, 1, 2, 3, 4]}
