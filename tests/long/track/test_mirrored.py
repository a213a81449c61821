"""Mirrors and autolog with the real libraries, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.venvs import venv_with

import danlu
from danlu import journal
from danlu.journal import Kind
from danlu.track.folders import find_runs
from danlu.track.reading import Recorded, open_journals, points, read_run

PACKAGES = (
    *("torch", "keras", "lightning", "transformers", "accelerate", "scikit-learn", "xgboost-cpu", "lightgbm"),
    *("wandb", "tensorboardX", "matplotlib", "plotly", "pillow", "pandas"),
)
pytestmark = pytest.mark.long

BEGIN = """
import numpy
from danlu import track
listening = track.autolog(every=2)
data, truth = numpy.random.rand(64, 4), (numpy.random.rand(64) > 0.5).astype(int)
"""
XGBOOST = """
import xgboost
table = xgboost.DMatrix(data, truth)
xgboost.train({"max_depth": 2, "objective": "binary:logistic"}, table, 3, evals=[(table, "train"), (table, "val")])
xgboost.XGBClassifier(n_estimators=2).fit(data, truth, eval_set=[(data, truth)])
listening.undo()
xgboost.train({"max_depth": 2}, table, 3)
"""
LIGHTGBM = """
import lightgbm
table = lightgbm.Dataset(data, truth)
lightgbm.train({"objective": "binary", "verbose": -1}, table, 3, valid_sets=[table], valid_names=["valid_0"])
lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(data, truth)
listening.undo()
lightgbm.train({"objective": "binary", "verbose": -1}, table, 3)
"""
KERAS = """
import keras
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(data, truth, batch_size=16, epochs=2, validation_split=0.25, verbose=0)
model.evaluate(data, truth, verbose=0)
listening.undo()
model.fit(data, truth, verbose=0)
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
trainer = lightning.Trainer(max_epochs=2, log_every_n_steps=1, accelerator="cpu",
    enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
trainer.fit(Line(), loader, loader)
trainer.test(trainer.lightning_module, loader, verbose=False)
listening.undo()
"""
TRANSFORMERS = """
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
arguments = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=1,
                                  eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True)
trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=Data(), eval_dataset=Data(),
                      )
trainer.train()
listening.undo()
"""
WANDB = """
import numpy, wandb
from danlu import track
mirror = track.mirror_wandb()
run = wandb.init(project="proj", name="first", config={"lr": 0.1}, tags=["x"], group="g", notes="why")
wandb.define_metric("val/loss", step_metric="samples")
wandb.config.update({"b": 2})
wandb.config.c = 3
for step in range(3):
    wandb.log({"loss": 1 / (step + 1), "val/loss": step, "n": {"a": step}})
pixels = numpy.zeros((4, 5, 3), dtype="uint8")
wandb.log({"p": wandb.Image(pixels), "h": wandb.Histogram([1, 2, 3]), "s": "text"}, step=10)
wandb.log({"t": wandb.Table(columns=["a"], data=[[1]]), "html": wandb.Html("<b>x</b>")}, step=10)
wandb.log({"two": [wandb.Image(pixels, caption="c")] * 2}, step=10)
wandb.summary["best"] = 5
run.summary.update({"z": 1})
wandb.alert("title", "text", level=wandb.AlertLevel.WARN)
wandb.finish()
try:
    with wandb.init(project="proj", name="second") as run:
        run.log({"a": 1})
        raise ValueError("on purpose")
except ValueError:
    pass
wandb.init(mode="disabled").log({"a": 1})
mirror.undo()
wandb.init(project="proj", name="after")
wandb.log({"a": 0})
with track.mirror_wandb():
    wandb.log({"a": 1})
wandb.log({"a": 2})
wandb.finish()
"""
TENSORBOARDX = """
import numpy
from danlu import track
from tensorboardX import SummaryWriter
with track.mirror_tensorboard(), SummaryWriter("events") as writer:
    writer.add_scalar("val/loss", 0.5, 1)
    writer.add_image("picture", numpy.zeros((3, 4, 5), dtype=numpy.uint8), 1)
"""
FIGURES = """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot, plotly.graph_objects
from danlu import track
with track.start("figures") as run:
    figure, axes = matplotlib.pyplot.subplots()
    axes.plot([1, 2])
    run.log_figure("matplotlib", figure)
    run.log_figure("plotly", plotly.graph_objects.Figure(plotly.graph_objects.Scatter(x=[1, 2], y=[3, 4])))
"""


def run_script(script: str, folder: Path) -> None:
    python = venv_with("mirrored", *PACKAGES)
    (folder / "script.py").write_text(script)
    switches = {"KERAS_BACKEND": "torch", "DANLU_TRACK": "offline", "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    env = {**os.environ, "PYTHONPATH": str(Path(danlu.__file__).parents[1]), **switches}
    command = [str(python), "script.py"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "danlu.track:" not in done.stderr, "nothing went wrong on the way"


def runs_in(folder: Path) -> list[tuple[Recorded, dict[tuple[str, str], list[int]], list[tuple[str, str]]]]:
    """Each run in the order of their starts, with the steps per series, and kinds and names of media."""
    made = []
    for place in find_runs(str(folder / ".danlu")):
        steps: dict[tuple[str, str], list[int]] = {}
        media = []
        for one in open_journals(place):
            for point in points(one):
                if point.type != "system":
                    steps.setdefault((point.type, point.name), []).append(point.step)
            found = [frame for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
            media += [(about["kind"], about["name"]) for about in (journal.decode_media(one).about for one in found)]
        made.append((read_run(place), steps, media))
    return sorted(made, key=lambda one: one[0].header["created_at"])


def test_xgboost(tmp_path: Path) -> None:
    run_script(BEGIN + XGBOOST, tmp_path)
    own, wrapped = runs_in(tmp_path)
    assert own[1] == {("train", "logloss"): [0, 1, 2], ("val", "logloss"): [0, 1, 2]}
    assert (own[0].hparams["max_depth"], own[0].state, own[2]) == (2, "finished", [("table", "feature_importance")])
    assert wrapped[1]["val", "logloss"] == [0, 1]
    assert wrapped[0].hparams["XGBClassifier"]["n_estimators"] == 2
    assert ("train", "XGBClassifier/accuracy") in wrapped[1]


def test_lightgbm(tmp_path: Path) -> None:
    run_script(BEGIN + LIGHTGBM, tmp_path)
    own, wrapped = runs_in(tmp_path)
    assert own[1] == {("val", "binary_logloss"): [0, 1, 2]}
    assert ("train", "LGBMClassifier/accuracy") in wrapped[1]


def test_keras(tmp_path: Path) -> None:
    run_script(BEGIN + KERAS, tmp_path)
    ((run, steps, _),) = runs_in(tmp_path)
    assert steps == {("train", "loss"): [3, 6], ("val", "loss"): [3, 6], ("test", "loss"): [6]}
    assert run.hparams["optimizer"]["name"].lower() == "sgd"


def test_lightning(tmp_path: Path) -> None:
    run_script(BEGIN + LIGHTNING, tmp_path)
    ((run, steps, _),) = runs_in(tmp_path)
    assert steps["train", "loss"] == list(range(8))
    assert (steps["val", "loss"], steps["test", "loss"]) == ([3, 7], [8])
    assert run.hparams == {"lr": 0.1}


def test_transformers(tmp_path: Path) -> None:
    run_script(BEGIN + TRANSFORMERS, tmp_path)
    ((run, steps, _),) = runs_in(tmp_path)
    assert steps["train", "loss"][:4] == [1, 2, 3, 4]
    assert steps["val", "loss"] == [2, 4]
    assert run.fields["total_steps"] == 4


def test_wandb(tmp_path: Path) -> None:
    run_script(WANDB, tmp_path)
    first, second, going_on = runs_in(tmp_path)
    header = {name: first[0].header[name] for name in ("name", "folder", "labels", "group", "description")}
    assert header == {"name": "first", "folder": "proj", "labels": ["x"], "group": "g", "description": "why"}
    assert first[0].hparams == {"lr": 0.1, "b": 2, "c": 3}
    assert (first[0].summary, first[0].axes) == ({"best": 5, "z": 1}, {"val/loss": "train/samples"})
    assert first[1] == {("train", "loss"): [0, 1, 2], ("val", "loss"): [0, 1, 2], ("train", "n.a"): [0, 1, 2]}
    assert [kind for kind, _ in first[2]] == ["image", "histogram", "text", "table", "html", "images", "alert"]
    assert going_on[1] == {("train", "a"): [1]}
    assert (first[0].state, second[0].header["name"], second[0].state) == ("finished", "second", "failed")


def test_tensorboardx(tmp_path: Path) -> None:
    run_script(TENSORBOARDX, tmp_path)
    ((run, steps, media),) = runs_in(tmp_path)
    assert (run.header["name"], run.state) == ("events", "finished")
    assert (steps, media) == ({("val", "loss"): [1]}, [("image", "picture")])


def test_figures(tmp_path: Path) -> None:
    run_script(FIGURES, tmp_path)
    ((_, _, media),) = runs_in(tmp_path)
    assert media == [("figure", "matplotlib"), ("plotly", "plotly")]
