"""One process of a cluster training, as AIS-Bench's boot files are: it leaves its throughput for the tester to collect.

With SINGLESERVER_MODE every server trains by itself: its first process cuts the rank table down to its own server,
the others wait for that.
"""

import argparse
import json
import os
import pathlib
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--train_url", required=True)
parser.add_argument("--data_url", required=True)
parser.add_argument("--config_path", required=True)
parser.add_argument("--enable_modelarts", required=True)
parser.add_argument("--epoch_size", type=int, required=True)
parser.add_argument("--device_num", type=int, required=True)
args, _ = parser.parse_known_args()

env, server = os.environ, os.environ["VC_TASK_INDEX"]
table, done = pathlib.Path(env["RANK_TABLE_FILE"]), pathlib.Path("/tmp/tmp.txt")
folder = pathlib.Path(args.train_url)
rank, size = int(env["RANK_ID"]), int(env["RANK_SIZE"])
if env.get("SINGLESERVER_MODE") == "True":
    rank, size, folder = rank % args.device_num, args.device_num, folder / server
    if rank == 0:
        found = json.loads(table.read_text())
        own = found["server_list"][int(server)]
        for device in own["device"]:
            device["rank_id"] = str(int(device["rank_id"]) % args.device_num)
        table.write_text(json.dumps({**found, "server_count": "1", "server_list": [own]}))
        done.write_text("done")
    subprocess.run(["sh", "-c", f"until [ -e {done} ]; do sleep 0.1; done"], check=True)
ranks = [int(device["rank_id"]) for one in json.loads(table.read_text())["server_list"] for device in one["device"]]
assert ranks == list(range(size)), (ranks, size)
images = len(pathlib.Path(args.data_url, "images.txt").read_text().split())
folder.mkdir(parents=True, exist_ok=True)
(folder / f"throughput_{rank}.json").write_text(str(images * args.epoch_size / 2))
if rank == 0:
    name = f"accuracy_{server}.json" if env.get("SINGLESERVER_MODE") == "True" else "accuracy.json"
    (folder / name).write_text("0.76")
print(f"server {server}, rank {rank} of {size}, log level {env['GLOG_v']}, {args.config_path}", flush=True)
