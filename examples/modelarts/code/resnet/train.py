"""What one process of a ModelArts job sees. Standard library only. Ends with 1 when something is not as promised."""

from __future__ import annotations

import argparse
import json
import os
import sys


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_url", required=True)
    parser.add_argument("--config_path", required=True)
    parser.add_argument("--run_distribute", required=True)
    parser.add_argument("--epoch_size", type=int, required=True)
    args, unknown = parser.parse_known_args()
    env = os.environ
    boot_file = os.path.join(env["MA_JOB_DIR"], "code", "resnet", "train.py")
    with open("/home/ma-user/rank_table/jobstart_hccl.json", encoding="utf-8") as file:
        num_ranks = sum(len(server["device"]) for server in json.load(file)["server_list"])
    problems = [
        problem
        for problem, is_there in {
            f"arguments that nobody asked for: {unknown}": unknown,
            "no write access to train_url": not os.access(args.train_url, os.W_OK),
            f"{boot_file} is not this file": not os.path.samefile(boot_file, __file__),
            "ma-pre-start.sh was not read": env.get("SINGLESERVER_MODE") != "True",
            "the rank table has another size": num_ranks != int(env["RANK_SIZE"]),
            "the first host is not the master": env["VC_WORKER_HOSTS"].split(",")[0] != f"{env['MA_VJ_NAME']}-worker-0",
        }.items()
        if is_there
    ]
    where = f"{env['MA_TASK_NAME']}-{env['VC_TASK_INDEX']} of {env['VC_WORKER_NUM']}, card {env['ASCEND_DEVICE_ID']}"
    told = f"{args.config_path}, run_distribute={args.run_distribute}, {args.epoch_size} epochs"
    print(f"rank {env['RANK_ID']} of {env['RANK_SIZE']}: {where}: {told}: {'; '.join(problems) or 'as promised'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
