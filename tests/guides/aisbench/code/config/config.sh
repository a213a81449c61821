#!/bin/bash
export PYTHON_COMMAND=python3.7
# export SINGLESERVER_MODE=True
# export MODELARTS_VERSION=V1
