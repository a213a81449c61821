"""What the commands of the documentation find when they are executed: a script before each block of a page."""

from __future__ import annotations

from pathlib import Path

LONG = {
    "docs/guide/artifacts.md",
    "docs/guide/ascend.md",
    "docs/guide/bench.md",
    "docs/guide/endpoints.md",
    "docs/guide/environments.md",
    "docs/guide/examples.md",
    "docs/guide/flavors.md",
    "docs/guide/images.md",
    "docs/guide/models.md",
    "docs/guide/people.md",
    "docs/guide/runs.md",
    "docs/guide/scheduling.md",
    "docs/migrate/ti-one.md",
    "docs/migrate/ti-one.zh.md",
    "examples/em_ddp/README.md",
    "examples/ti_one/README.md",
    "examples/track_ddp/README.md",
}
"""Pages whose commands take long together: `make test-long` executes them. Their commands have quick tests too."""

ANSWERS = {
    "docs/guide/people.md": {r"(password|again): $": "correct horse battery\n"},
    "docs/guide/debug.md": {r"[#$] $": "exit\n"},
}
"""Pages whose commands need somebody at a terminal: the end of what is shown -> what is typed."""


def _first(command: str, field: str, among: str = "True") -> str:
    """A field of the first of a list that a command prints as JSON."""
    choose = f"[one for one in json.load(sys.stdin) if {among}][0]['{field}']"
    return f'$({command} --json | python3 -c "import json, sys; print({choose})")'


SUBSTITUTIONS = {
    "gpu:2": "cpu:2",  # there is none where tests run
    "gpu-7": _first("danlu nodes", "name"),
    "1f0c2b7de5a94c38": _first("danlu keys ls", "id", "one['name'] == 'ci'"),
    "run-...": _first("danlu runs ls --deleted", "id"),
    "results/train-12/": "results/",
    "/shared/runs": ".danlu/runs",
}
"""What cannot be the same everywhere: text of a page -> what is executed in its place."""

_TRAIN = "printf 'print(\"trained\")\\n' > train.py"
_PROJECT = """
danlu projects new vision 2> /dev/null || true
"""
_MNIST = f"""
{_TRAIN}
printf 'name: mnist\\ncommand: python3 train.py\\nnodes: 2\\ncode: .\\n' > job.yml
"""
_RUNS = """
python3 - <<'EOF'
from danlu import track
for name, lr in (("mnist", 0.1), ("baseline", 0.001), ("wider", 0.002)):
    run = track.start(name, {"lr": lr})
    run.log("val", {"acc": 0.95}, step=1)
    run.finish()
EOF
danlu sync
"""

_WITH_TESTS = f"PYTHONPATH={Path(__file__).parents[2]} python3"
_SWANLAB = [
    f"""
    {_PROJECT}
    {_WITH_TESTS} - <<'EOF'
from pathlib import Path
from tests.importing.test_swanlab import CONFIG, METADATA
from tests.support.foreign_files import swanlab_run, swanlab_scalar
files = {{"files/config.yaml": CONFIG, "files/swanlab-metadata.json": METADATA}}
swanlab_run(Path(), "a1b2c3d4", [swanlab_scalar("train/loss", 0, 0.5)], files=files)
EOF
    mv swanlog/run-20231114_221320-a1b2c3d4 swanlog/run-20250605_163200-a1b2c3d4
    """
]
_TENSORBOARD = [
    """
    python3 - <<'EOF'
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("runs/first") as writer:
    writer.add_scalar("loss", 0.5, 1)
EOF
    """
]
_TRACKIO = [
    f"""
    {_PROJECT}
    mkdir -p ~/.cache/huggingface/trackio
    {_WITH_TESTS} - <<'EOF'
import sqlite3
from pathlib import Path
from tests.importing.test_trackio import AT, TABLES
with sqlite3.connect(Path.home() / ".cache/huggingface/trackio/mnist.db") as database:
    database.executescript(TABLES)
    database.execute("INSERT INTO metrics VALUES (1, 'r1', ?, 'first', 0, ?)", (AT, '{{"loss": 0.5}}'))
EOF
    """
]

_TI_ONE = [
    """
    danlu store rb demo-1256580188 2> /dev/null || true
    danlu users invite somebody-$RANDOM --project default
    """,
    """
    cat > your_script.py <<'EOF'
from tikit.client import Client
print(Client("your_secret_id", "your_secret_key").describe_cos_buckets())
EOF
    """,
    """
    cat > task.json <<'EOF'
{"Name": "classify", "TrainingMode": "DDP", "FrameworkEnvironment": "torch1.9-py3.8-cuda11.1-gpu",
 "ResourceConfigInfos": [{"Role": "WORKER", "Cpu": 1000, "Memory": 1024, "InstanceNum": 2}],
 "StartCmdInfo": {"StartCmd": "echo $INDEX of $NODE_NUM"}}
EOF
    """,
]

SETUPS: dict[str, list[str]] = {
    "docs/guide/artifacts.md": [
        """
        for number in 1 2; do
            echo $number > model.pt; echo '{}' > config.json
            danlu artifacts upload mnist-model model.pt config.json
        done
        echo 3 > model.pt; mkdir models
        """
    ],
    "docs/guide/ascend.md": [
        "",
        f"{_TRAIN}; export DEVICE_NUM=2 RANK_ID=0",
        """
        danlu plan examples/apulis/job.yml --rank 0 --json | python3 -c '
import json, sys
task = json.load(sys.stdin)["tasks"][0]
open("hccl.json", "w").write(task["files"][task["env"]["RANK_TABLE_FILE"]])
(old,) = [text for path, text in task["files"].items() if path.endswith("hccl_tf.json")]
open("jobstart_hccl.json", "w").write(old)'
        """,
        "mkdir Resnet50_HC; echo echo hi > Resnet50_HC/run.sh",
    ],
    "docs/guide/debug.md": [
        _MNIST,
        "",
        """
        mkdir src; danlu run -N 2 --name mnist -d -- 'sleep 600'
        until danlu exec mnist -- true && danlu exec mnist --rank 1 -- true; do :; done
        """,
    ],
    "docs/guide/endpoints.md": ["danlu run --name mnist -d -- 'sleep 600'"],
    "docs/guide/environments.md": [
        f"""
        {_TRAIN}; echo > requirements.txt
        printf 'name: mnist\\ncommand: python train.py\\ncode: .\\nrequirements: requirements.txt\\n' > job.yml
        """
    ],
    "docs/guide/flavors.md": [
        f"""
        {_TRAIN}
        danlu flavors add npu-910b-8 --device npu:910b:8 --price 1
        danlu frameworks add pytorch-2.13 --title PyTorch --launch plain --launch ddp --env OMP_NUM_THREADS=1
        """,
        """
        danlu flavors remove npu-910b-8
        danlu frameworks remove pytorch-2.13
        echo true > activate.sh
        """,
    ],
    "docs/guide/flow.md": ["danlu run --name classify -- true"],
    "docs/guide/jobs.md": [
        "",
        f"mkdir src; cd src; {_TRAIN}; cd ..; echo 1 > one; danlu store cp one store://main/mnist/",
        "",
        "danlu run --name mnist -d -- 'sleep 2'; danlu store cp one store://main/results/",
        "danlu run --name mnist -d -- 'sleep 600'",
    ],
    "docs/guide/models.md": [
        """
        danlu run --name mnist --hp lr=0.01 -- 'echo weights > $DANLU_MODEL_DIR/model.pt'
        for number in 1 2 3; do danlu models register mnist --job mnist; done
        """,
        "",
        "danlu models alias mnist:4 champion",
    ],
    "docs/guide/people.md": [
        "",
        _PROJECT,
        "",
        "danlu users invite mallory > /dev/null",
        f"""
        link=$(danlu users reset ada | grep -o 'http[^ ]*signin[^ ]*')
        DANLU_CONFIG=$HOME/.danlu/ada.yml danlu login --new-password "$link"
        danlu projects rm vision
        danlu users invite vic > /dev/null
        link=$(danlu users invite bob | grep -o 'http[^ ]*signin[^ ]*')
        DANLU_CONFIG=$HOME/.danlu/bob.yml danlu login "$link"
        {_TRAIN}
        """,
        "",
        "",
        _PROJECT,
    ],
    "docs/guide/records.md": [
        """
        python3 - <<'EOF'
import os, numpy
from PIL import Image
for number in range(4):
    folder = f"photos/{'cat' if number % 2 else 'dog'}"
    os.makedirs(folder, exist_ok=True)
    Image.fromarray(numpy.full((40, 50, 3), 40 * number, numpy.uint8)).save(f"{folder}/{number}.jpg")
EOF
        """
    ],
    "docs/guide/resources.md": ["danlu run --name mnist -- 'sleep 1'"],
    "docs/guide/runs.md": [_RUNS, "danlu runs rm wider"],
    "docs/guide/samples.md": [
        """
        mkdir data; cd data
        for number in 1 2; do echo $number > $number.txt; tar cf train-$number.tar $number.txt; done
        cd ..
        """
    ],
    "docs/guide/scheduling.md": [_PROJECT + "danlu users invite ann --project vision > /dev/null"],
    "docs/guide/store.md": [
        _PROJECT
        + """
        mkdir cifar10; echo 1 > cifar10/one
        danlu store cp cifar10/one store://main/results/; danlu store cp cifar10/one store://main/old/
        """
    ],
    "docs/guide/track.md": [_RUNS],
    "docs/migrate/swanlab.md": _SWANLAB,
    "docs/migrate/swanlab.zh.md": _SWANLAB,
    "docs/migrate/tensorboard.md": _TENSORBOARD,
    "docs/migrate/tensorboard.zh.md": _TENSORBOARD,
    "docs/migrate/trackio.md": _TRACKIO,
    "docs/migrate/trackio.zh.md": _TRACKIO,
    "docs/migrate/ti-one.md": _TI_ONE,
    "docs/migrate/ti-one.zh.md": _TI_ONE,
    "examples/ti_one/README.md": ["cd examples/ti_one"],
}
