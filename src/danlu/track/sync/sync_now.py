"""Sync one run or artifact and report the outcome, in a separate process that does not load the training's packages.

python -I sync_now.py '{"run": "FOLDER", "folder": null, "make_folder": false, "conflict": "new"}'
python -I sync_now.py '{"do": "send", "artifact": "FOLDER"}'          find and fetch: `artifact_orders`
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

if __name__ == "__main__":
    # as a script: use this copy of the package, but after the standard library, so that nothing shadows it
    _own = os.path.abspath(os.path.join(__file__, "../../../.."))
    _after = [number for number, place in enumerate(sys.path) if place.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(_after[0] if _after else len(sys.path), _own)

from danlu.track.sync.address import connected, find_address
from danlu.track.sync.artifact_orders import carry_out
from danlu.track.sync.syncing import Wish, sync_artifacts_of, sync_run
from danlu.transfer.errors import ServerAway


def sync(order: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome: `is_there` and `message`."""
    address = find_address(os.environ)
    if address is None:
        return {"is_there": False, "message": "no server and key are known; `danlu login` keeps them"}
    if "do" in order:
        return carry_out(address, order)
    wish = Wish(order["folder"], order["make_folder"], order["conflict"])
    try:
        with connected(address) as api:
            done = sync_run(api, order["run"], wish)
            problem = "" if done is None or done.problem or done.is_skipped else sync_artifacts_of(api, done)
    except ServerAway as error:
        return {"is_there": False, "message": f"no server answers at {address.url} ({error}); `danlu sync` later"}
    if done is None:
        return {"is_there": False, "message": f"there is no journal in {order['run']}"}
    return {"is_there": not (done.problem or problem), "message": done.problem or problem}


def main() -> int:
    try:
        result = sync(json.loads(sys.argv[1]))
    except Exception as error:
        result = {"is_there": False, "message": f"{type(error).__name__}: {error}"}
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
