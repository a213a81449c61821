#!/bin/bash
# A process for each NPU of this node, as the platform's own scripts start them; each looks itself up in the rank table.
source /pod.env
cd "$(dirname "$0")"
test -d /dlwsdata/storage/Resnet50_HC || { echo "no /dlwsdata/storage"; exit 1; }
images=$(wc -w < /data/Resnet50_HC_data/images.txt)
for i in $(seq 0 $((DLWS_NUM_GPU_PER_WORKER - 1))); do
  ./train.sh $((DLWS_ROLE_IDX * DLWS_NUM_GPU_PER_WORKER + i)) "$images" &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || exit 1; done
