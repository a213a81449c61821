"""Fit a line to noisy points with gradient descent: small enough to read, and all of a job is in it.

Hyperparameters come from a file, metrics go to a run, and what lies in the model folder is kept in the store.
"""

import json
import os
import random
import time
from pathlib import Path

from danlu import track

PARAMETERS = json.loads(Path(os.environ["DANLU_HYPERPARAMETERS"]).read_text())
MODEL = Path(os.environ["DANLU_MODEL_DIR"])


def make_points(count: int) -> list[tuple[float, float]]:
    """Points near y = 3x - 1."""
    chance = random.Random(7)
    return [(x, 3 * x - 1 + chance.gauss(0, 0.1)) for x in (chance.uniform(-1, 1) for _ in range(count))]


def main() -> None:
    points = make_points(200)
    slope = offset = 0.0
    run = track.start("hello", hparams=PARAMETERS)
    for step in range(1, PARAMETERS["steps"] + 1):
        errors = [(slope * x + offset - y, x) for x, y in points]
        loss = sum(error * error for error, _ in errors) / len(points)
        slope -= PARAMETERS["lr"] * 2 * sum(error * x for error, x in errors) / len(points)
        offset -= PARAMETERS["lr"] * 2 * sum(error for error, _ in errors) / len(points)
        run.log("train", {"loss": loss, "slope": slope, "offset": offset}, step=step)
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.4f}, y = {slope:.2f} x {offset:+.2f}")
        time.sleep(0.03)  # slow enough to watch
    (MODEL / "line.json").write_text(json.dumps({"slope": slope, "offset": offset}))
    run.finish()
    print("the model is in the job's output folder: model/line.json")


if __name__ == "__main__":
    main()
