#!/bin/bash
set -x
echo "Start to intall the run package"
LOCAL_DIR=$(cd "$(dirname "$0")";pwd)
echo $LOCAL_DIR

TRAIN_PY_PATH=$(readlink -f `find ./ -name train.py`)
BASE_PATH=`dirname $TRAIN_PY_PATH`
sudo chmod +x $BASE_PATH/*.py

# env set
export GLOG_v=3
export ASCEND_GLOBAL_LOG_LEVEL=3
export ASCEND_GLOBAL_EVENT_ENABLE=0
export ASCEND_SLOG_PRINT_TO_STDOUT=0

set +x
