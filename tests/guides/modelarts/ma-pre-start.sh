#!/bin/bash
set -x
LOCAL_DIR=$(cd "$(dirname "$0")";pwd)
TRAIN_PY_PATH=$(readlink -f `find ./ -name train.py`)
test "$(dirname "$TRAIN_PY_PATH")" = "$LOCAL_DIR"
sudo chmod +x "$TRAIN_PY_PATH"
export GLOG_v=3
set +x
