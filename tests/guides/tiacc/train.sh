# Pack, then train on all hosts: the lines of the guide, with CPUs for its GPUs.
set -e
ln -sfn "$(python3 -c 'import tiacc_training as it; print(it.__path__[0])')" tiacc_training
python3 tiacc_training/tools/general_image_list.py --img_dir $DANLU_DATA_DIR/val_demo/ --img_list val_list
python3 tiacc_training/tools/img2tfrecord.py --img_dir $DANLU_DATA_DIR/val_demo --img_list val_list \
  --tfrecords_name $DANLU_OUTPUT_DIR/val_demo --dataset_type ImageFold
node_list=${NODE_LIST}
gpu_num=${GPU_NUM}
unset MASTER_ADDR MASTER_PORT
mpirun --allow-run-as-root -np ${gpu_num} -H ${node_list} -map-by slot -mca btl_tcp_if_include eth0 -mca oob_tcp_if_include eth0 \
  -x NCCL_DEBUG=INFO \
  -x NCCL_SOCKET_IFNAME=eth0 \
  -x NCCL_IB_DISABLE=1 \
  -x LIGHT_2D_ALLREDUCE=1 \
  -x TIACC_TRAINING_FUSION_THRESHOLD=25217728 \
  -x TIACC_TRAINING_NUM_NCCL_STREAMS=3 \
  env -u MASTER_ADDR -u MASTER_PORT python3 train.py
