"""What becomes of each code block of the guides: a program that jobs run, a fragment, or something of their world.

Blocks are known by their guide and their place in it, and by a few words that have to be in them: when a guide changes,
the test says so. No text of the guides is kept here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^[ \t]*`{3,}\w*[ \t]*\n(.*?)^[ \t]*`{3,}[ \t]*$", re.MULTILINE | re.DOTALL)

PROGRAM, FRAGMENT, NOT_HERE = "runs", "fragment", "not here"
GUIDES = {"000": "TI-ONE", "001": "t9k", "002": "Apulis", "003": "ModelArts", "004": "TI-ACC"}


@dataclass(frozen=True)
class Step:
    guide: str
    block: int
    has: str
    """A word of the block, to notice a guide that has changed."""

    kind: str
    what: str
    """What the step is, or which example covers it, or why there is nothing to do here."""


CONTAINER = "the job is the container"
SSHD = "mpirun reaches the tasks without sshd"

STEPS = (
    Step("000", 0, "upload_to_cos", PROGRAM, "data to the store, from a notebook"),
    Step("000", 1, "NODE_NUM", FRAGMENT, "docs/guide/launch.md"),
    Step("000", 2, "torch.distributed.launch", PROGRAM, "start_cloud.sh on two nodes"),
    Step("000", 3, "tikit", PROGRAM, "the client, in the training script"),
    Step("000", 4, "push_training_metrics", PROGRAM, "help on a call"),
    Step("000", 5, "def validate", PROGRAM, "validation that pushes metrics"),
    Step("000", 6, "upload_to_cos", PROGRAM, "code to the store, from a notebook"),
    Step("000", 7, "start_local.sh", PROGRAM, "start_local.sh in the notebook"),
    Step("000", 8, "create_training_task", PROGRAM, "frameworks, prices, the task"),
    Step("000", 9, "describe_train_logs", PROGRAM, "the logs of the task"),
    Step("000", 10, "reasoning_images", PROGRAM, "inference environments"),
    Step("000", 11, "create_model_by_task", PROGRAM, "the model is registered"),
    Step("001", 0, "include", FRAGMENT, "examples/em_ddp"),
    Step("001", 1, "hparams", PROGRAM, "hyperparameters"),
    Step("001", 2, "create_run", PROGRAM, "the run"),
    Step("001", 3, "class Net", PROGRAM, "the model"),
    Step("001", 4, "run.log", PROGRAM, "metrics"),
    Step("001", 5, "create_artifact", PROGRAM, "the artifact"),
    Step("001", 6, "em.login", PROGRAM, "login and upload"),
    Step("002", 0, "ASCEND_OPP_PATH", PROGRAM, "the variables of Ascend, read in a job"),
    Step("002", 1, "run_apulis.sh", PROGRAM, "the command of a regular job"),
    Step("002", 2, "run_dis_rc1.sh", PROGRAM, "the command of a distributed job"),
    Step("002", 3, "/dlwsdata/storage", PROGRAM, "the folder by its other name"),
    Step("002", 4, "RANK_TABLE_FILE", FRAGMENT, "docs/guide/ascend.md"),
    Step("003", 0, "OBS", FRAGMENT, "a picture"),
    Step("003", 1, "easydict", NOT_HERE, "installs a package"),
    Step("003", 2, "CANN_RUN_PACKET", PROGRAM, "ma-pre-start.sh before the boot file"),
    Step("003", 3, "obs.", NOT_HERE, "names of another cloud's hosts"),
    Step("003", 4, "hyperparameters", PROGRAM, "hyperparameters of a job, resnet 1.3"),
    Step("003", 5, "hyperparameters", PROGRAM, "hyperparameters of a job, resnet 1.5"),
    Step("003", 6, "SINGLESERVER_MODE", PROGRAM, "each server by itself"),
    Step("004", 0, "docker login", NOT_HERE, CONTAINER),
    Step("004", 1, "docker pull", NOT_HERE, CONTAINER),
    Step("004", 2, "docker run", NOT_HERE, CONTAINER),
    Step("004", 3, "sshd_config", NOT_HERE, SSHD),
    Step("004", 4, "service ssh", NOT_HERE, SSHD),
    Step("004", 5, "ssh-keygen", NOT_HERE, SSHD),
    Step("004", 6, "ssh -p", NOT_HERE, SSHD),
    Step("004", 7, "Host", NOT_HERE, SSHD),
    Step("004", 8, "import tiacc_training.torch", PROGRAM, "the import"),
    Step("004", 9, "init_tiacc_training", PROGRAM, "the exchange for DDP"),
    Step("004", 10, "mpirun", PROGRAM, "the mpirun line over two nodes"),
    Step("004", 11, "IndexTFRDataset", PROGRAM, "records as a data set"),
    Step("004", 12, "general_image_list.py", PROGRAM, "the list"),
    Step("004", 13, "img2tfrecord.py", PROGRAM, "the records"),
    Step("004", 14, "enable_mixed_precision", PROGRAM, "adaptive mixed precision"),
)

_LOOP = """\
def train(scheduler):
    global global_step
    for epoch in range(1, epochs + 1):
        for step, (images, labels) in enumerate(train_loader, 1):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            steps_per_epoch = len(train_loader)
"""
_EVALUATION = """\
def test(val=False, epoch=None):
    label, loader = "val" if val else "test", train_loader
    with torch.no_grad():
        found = [(model(images), labels) for images, labels in loader]
    running_loss = sum(nn.functional.cross_entropy(*one).item() for one in found)
    correct = sum((outputs.argmax(1) == labels).sum().item() for outputs, labels in found)
"""

SUBSTITUTIONS: dict[tuple[str, int], tuple[tuple[str, str], ...]] = {
    # places
    ("000", 0): ((r'"LOCAL_PATH", "\w+", "\w+"', '"data", "demo-1256580188", "notebook-demo-classification/"'),),
    ("000", 6): ((r'"LOCAL_PATH", "\w+", "\w+"', '"code", "demo-1256580188", "notebook-demo-classification/"'),),
    # sizes and models
    ("000", 2): ((r"\bresnet50\b", "linear"),),
    # no GPU
    ("000", 5): ((r"target\.cuda\([^)]*\)", "target"),),
    # the id of this task; a variable that the guide calls by two names
    ("000", 9): ((r'"train-\d+\*"', 'task_id + "*"'),),
    ("000", 11): (
        (r'"train-\d+"', "task_id"),
        (r'"output/train-\d+/"', 'f"output/{task_id}/"'),
        (r"\bmodule_output_path\b", "model_output_path"),
    ),
    # one pass over few images
    ("001", 1): ((r"'epochs': \d+", "'epochs': 1"),),
    # what the guide leaves out: the model is made between two of its lines, and has a forward
    ("001", 3): ((r"^    optimizer =", "    model = distributed(Net)\n    optimizer ="),),
    # what the guide leaves out: the loops around its lines
    ("001", 4): (
        (r"^def train\(scheduler\):\n    \.\.\.\n", _LOOP),
        (r"^def test\(val=False, epoch=None\):\n    \.\.\.\n", _EVALUATION),
        (r"500 // world_size", "2"),
    ),
    # a job that ends
    ("002", 1): ((r" && sleep infinity", ""),),
    # an editor needs somebody to type
    ("002", 3): ((r"\bvim\b", "ls -l"),),
    # packages of another cloud
    ("003", 2): ((r"\bpip install", "echo pip install"),),
    # hosts and processes of this job; // is not a comment for a shell; the script's own place
    ("004", 10): (
        (r"node1:8,node2:8", "${NODE_LIST}"),
        (r"gpu_num=16", "gpu_num=${GPU_NUM}"),
        (r"[ \t]*//.*", ""),
        (r"/demo/\S+\.py", "train.py"),
    ),
    # a blank and an indentation that Python does not take; the processor instead of CUDA
    ("004", 14): (
        (r"torch \.tiacc", "torch.tiacc"),
        (r"^\s+(outputs|loss) =", r"    \1 ="),
        (r"amp\.autocast\(enabled", "torch.autocast('cpu', enabled"),
    ),
}
"""(guide, block) -> pattern and what it becomes. Nothing else is changed."""


def blocks(folder: Path, guide: str) -> list[str]:
    """The code blocks of a guide, in order."""
    (path,) = folder.glob(f"{guide}*.txt")
    return [found[1] for found in _BLOCK.finditer(path.read_text(encoding="utf-8"))]


def program(folder: Path, guide: str, block: int) -> str:
    """A block with its substitutions, without the indentation of its list."""
    text = textwrap.dedent(blocks(folder, guide)[block])
    for pattern, new in SUBSTITUTIONS.get((guide, block), ()):
        text = re.sub(pattern, new, text, flags=re.MULTILINE)
    return text


def table(results: Mapping[tuple[str, int], str]) -> str:
    """The rows of docs/guide/guides.md, with what became of the programs; neighbours that are alike share a row."""
    rows: list[tuple[str, str, str, list[str]]] = []
    for step in STEPS:
        result = results.get((step.guide, step.block), "not run") if step.kind == PROGRAM else step.kind
        key = (GUIDES[step.guide], step.what, result)
        if rows and rows[-1][:3] == key:
            rows[-1][3].append(str(step.block))
        else:
            rows.append((*key, [str(step.block)]))
    lines = [f"| {guide} | {', '.join(numbers)} | {what} | {result} |" for guide, what, result, numbers in rows]
    return "\n".join(["| guide | block | what | result |", "|---|---|---|---|", *lines, ""])
