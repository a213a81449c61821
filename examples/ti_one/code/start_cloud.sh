# Runs on every node of the task.
python3 -m torch.distributed.run --nnodes=${NODE_NUM} --node_rank=${INDEX} --nproc_per_node=${GPU_NUM_PER_NODE} \
  --master_addr=${CHIEF_IP} --master_port=23457 main.py /opt/ml/input/data/dots
