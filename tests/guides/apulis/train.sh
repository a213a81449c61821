#!/bin/bash
# What TensorFlow would do first: find this pod in the table. Then a line for TensorBoard, and one for the log.
table=~/.npu/$DLWS_JOB_ID/hccl_tf.json
grep -q "\"$POD_NAME\"" "$table" || { echo "$POD_NAME is not in $table"; exit 1; }
pods=$(grep -o '"pod_name"' "$table" | wc -l)
echo loss > ~/tensorboard/$DLWS_JOB_ID/logs/events.$1
echo "rank $1 of $((pods * DLWS_NUM_GPU_PER_WORKER)), devices $VISIBLE_IDS, $2 images, $(cat /etc/motd 2>/dev/null || true)"
