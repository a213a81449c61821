"""The main job from nothing to a trained model: what `make demo` runs. Everything happens below `.demo/`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

sys.path.insert(0, str(Path(__file__).parent))
import shapes

HERE = Path(__file__).parent
BARS = "▁▂▃▄▅▆▇█"
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
    job = client.jobs.submit(values)
    console.print(f"submitted [bold]{job.name}[/] as {job.id}: {values['nodes']} nodes, launch {values['launch']}")
    for line in job.logs(follow=True):
        console.print(f"[{'cyan' if line.rank == 0 else 'magenta'}]rank {line.rank}[/] | {line.text.rstrip()}")
    return job.wait()


def _show_result(client: Client, job: Job, home: Path) -> None:
    result = home / "result"
    client.store.download(job.output, result)
    history = json.loads((result / "history.json").read_text())
    table = Table(title=f"{job.name} {sparkline([row['loss'] for row in history])} loss")
    for heading in ("epoch", "loss", "accuracy", "images/s"):
        table.add_column(heading, justify="right")
    for row in history:
        table.add_row(
            str(row["epoch"]), f"{row['loss']:.4f}", f"{row['accuracy']:.1%}", f"{row['images_per_second']:.0f}"
        )
    console.print(table)
    model = result / "model" / "model.pt"
    console.print(f"trained model from the store: {model} ({model.stat().st_size} bytes)")


def sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0
    return "".join(BARS[round((value - low) * scale)] for value in values)


if __name__ == "__main__":
    sys.exit(main())
