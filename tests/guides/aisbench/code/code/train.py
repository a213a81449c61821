"""A boot file as AIS-Bench's are: it copies its data with moxing (V1) or finds it (V2), and leaves its throughput."""

import argparse
import os

import moxing as mox

parser = argparse.ArgumentParser()
for name in ("train_url", "data_url", "config_path", "enable_modelarts"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--epoch_size", type=int, required=True)
parser.add_argument("--device_num", type=int, required=True)
args, _ = parser.parse_known_args()

env = os.environ
rank, server = int(env["RANK_ID"]), env["VC_TASK_INDEX"]
data = args.data_url
if data.startswith("s3://"):
    data = f"/tmp/cache-{rank}"
    mox.file.copy_parallel(args.data_url, data)
images = len(mox.file.read(os.path.join(data, "train", "images.txt")).split())
if env.get("DIES") and rank == int(env["DIES"]):
    raise SystemExit(3)
if env.get("SILENT") and rank == int(env["SILENT"]):
    raise SystemExit

is_single = env.get("SINGLESERVER_MODE") == "True"
own = rank % args.device_num if is_single else rank
folder = os.path.join(args.train_url, server) if is_single else args.train_url
mox.file.make_dirs(folder)
mox.file.write(os.path.join(folder, f"throughput_{own}.json"), str(images * args.epoch_size * (rank + 1) / 2))
if own == 0:
    name = f"accuracy_{server}.json" if is_single else "accuracy.json"
    mox.file.write(os.path.join(args.train_url, name), "0.76")
if rank == 0 and not is_single:
    mox.file.write(os.path.join(args.train_url, "ranksize.json"), env["RANK_SIZE"])
print(f"rank {rank} of server {server}, log level {env['GLOG_v']}, {args.config_path}", flush=True)
