#!/bin/bash
# One background process for each NPU of this node, as Apulis' own scripts have it.
pids=
for i in $(seq 0 $((DLWS_NUM_GPU_PER_WORKER - 1))); do
  RANK_ID=$((RANK_ID + i)) DEVICE_ID=$i python3 -u show.py &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || exit 1; done
