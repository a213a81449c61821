# The launch line of TI-ONE's guide, with its hard-coded port: it works as it is.
num_nodes=${NODE_NUM}
node_index=${INDEX}
num_gpus=${GPU_NUM_PER_NODE}
maddr=${CHIEF_IP}
python3 -m torch.distributed.run --nnodes=${num_nodes} --node_rank=${node_index} --nproc_per_node=${num_gpus} \
  --master_addr=${maddr} --master_port=23457 train.py
