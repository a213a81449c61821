"""The main job from nothing to a trained model: what `make demo` runs. Everything happens below `.demo/`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from danlu.cli.sparkline import sparkline
from danlu.client import Client, Job
from danlu.client.tracking.runs import Run
from danlu.spec.runs import RunState
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

sys.path.insert(0, str(Path(__file__).parent / "code"))
import shapes

HERE = Path(__file__).parent
console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    options = _options()
    home = Path(options.folder).absolute()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    console.rule("Danlu: two nodes, one command")
    flags = ["--no-sandbox", "--no-own-network"] if options.no_sandbox else []
    server = RunningServer(home / "data", *flags).start()
    try:
        with server.client() as client:
            _say_where(client, server.url)
            _upload_data(client, home / "shapes")
            job = _submit_and_follow(client)
            if job.state is not JobState.SUCCEEDED:
                console.print(f"[red]{job.id} {job.state}: {job.reason.message}")
                return 1
            _show_result(client, job, home)
    finally:
        server.stop()
    console.print(f"The server is stopped; all that was made is in {home}.")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=".demo", help="where everything is put (emptied first)")
    parser.add_argument("--no-sandbox", action="store_true", help="as on a machine with neither root nor bubblewrap")
    return parser.parse_args()


def _say_where(client: Client, url: str) -> None:
    node = next(iter(client.nodes()))
    console.print(f"server on {url}, node [bold]{node.name}[/] with {node.cpus:g} cores")
    for sentence in node.missing:
        console.print(f"[yellow]not isolated here:[/] {sentence}")


def _upload_data(client: Client, folder: Path) -> None:
    shapes.write(folder)
    client.store.upload(folder, "store://main/demo/shapes/")
    names = ", ".join(f"{item.key} ({item.size // 1024} KiB)" for item in client.store.list("main/demo/shapes/"))
    console.print(f"data set made and uploaded: {names}")


def _submit_and_follow(client: Client) -> Job:
    values = yaml.safe_load((HERE / "job.yml").read_text())
    values["code"] = {"path": str(HERE / "code")}
    values["data"] = {"store://main/demo/shapes": "shapes"}
    values["output"] = "store://main/demo/results"
    job = client.jobs.submit(values)
    console.print(f"submitted [bold]{job.name}[/] as {job.id}: {values['nodes']} nodes, launch {values['launch']}")
    for line in job.logs(follow=True):
        console.print(f"[{'cyan' if line.rank == 0 else 'magenta'}]rank {line.rank}[/] | {line.text.rstrip()}")
    return job.wait()


def _show_result(client: Client, job: Job, home: Path) -> None:
    result = home / "result"
    client.store.download(job.output, result)
    run = _tracked(client, job)
    steps = run.points("train/loss", max_points=400)
    console.print(f"run [bold]{run.id}[/] {run.details.state}: {run.details.num_points} points on the platform")
    console.print(f"train/loss, every step   {sparkline(steps.value, 60)}")
    names = ("loss", "accuracy", "images_per_second")
    loss, accuracy, speed = (run.points(f"test/{name}", axis="epoch") for name in names)
    table = Table(title=f"{job.name}, by epoch")
    for heading in ("epoch", *names):
        table.add_column(heading, justify="right")
    for row in zip(loss.epoch, loss.value, accuracy.value, speed.value):
        table.add_row(f"{row[0]:.0f}", f"{row[1]:.4f}", f"{row[2]:.1%}", f"{row[3]:.0f}")
    console.print(table)
    model = result / "model" / "model.pt"
    console.print(f"trained model from the store: {model} ({model.stat().st_size} bytes)")


def _tracked(client: Client, job: Job) -> Run:
    """The run that the script made, once its last words have arrived."""
    for _ in range(100):
        found = [run for run in client.runs.list(job=job.id) if not run.is_own]
        if found and found[0].state is not RunState.RUNNING:
            break
        time.sleep(0.1)
    return client.runs.get(found[0].id)


if __name__ == "__main__":
    sys.exit(main())
