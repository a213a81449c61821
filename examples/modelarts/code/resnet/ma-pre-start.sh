#!/bin/bash
# Read once on every node before the boot file is started; what it exports reaches every process.
echo "preparing in $(cd "$(dirname "$0")" && pwd)"
sudo chmod +x "$(dirname "$0")/train.py"
export GLOG_v=3
export ASCEND_GLOBAL_LOG_LEVEL=3
export SINGLESERVER_MODE=True
