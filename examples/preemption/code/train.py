"""A training loop that survives preemption: it saves when it is told to end, and goes on from what it saved."""

import json
import os
import time
from pathlib import Path

import danlu

CHECKPOINT = Path(os.environ["DANLU_CHECKPOINT_DIR"]) / "state.json"


def load() -> dict:
    """What the attempt before this one saved; a fresh start when there was none."""
    if not CHECKPOINT.exists():
        return {"step": 0, "weight": 0.0}
    return json.loads(CHECKPOINT.read_text())


def save(state: dict) -> None:
    """Write beside it and rename, so that a checkpoint is whole or not there."""
    partial = CHECKPOINT.with_suffix(".partial")
    partial.write_text(json.dumps(state))
    partial.replace(CHECKPOINT)


def main() -> None:
    wanted = json.loads(Path(os.environ["DANLU_HYPERPARAMETERS"]).read_text())
    state = load()
    print(f"attempt {os.environ['DANLU_ATTEMPT']} begins at step {state['step']}")
    while state["step"] < wanted["steps"]:
        time.sleep(wanted["seconds_per_step"])
        state = {"step": state["step"] + 1, "weight": state["weight"] + 0.5}
        if danlu.preempted():
            save(state)
            print(f"told to end: saved at step {state['step']}")
            return
        if state["step"] % wanted["save_every"] == 0:
            save(state)
    print(f"done after {state['step']} steps, weight {state['weight']:g}")


main()
