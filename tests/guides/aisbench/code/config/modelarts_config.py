from easydict import EasyDict as ed  # noqa: N813

access_config = ed(
    {
        # credentials: those of `danlu login` are used
        "access_key": "",
        "secret_access_key": "",
        "server": "",
        "region_name": "cn-central-221",
        "project_id": "",
        "iam_endpoint": "",
        "obs_endpoint": "",
        "modelarts_endpoint": "",
    }
)

session_config = ed(
    {
        "hyperparameters": [
            {"label": "config_path", "value": "resnet50_imagenet2012_Acc_config.yaml"},
            {"label": "enable_modelarts", "value": "True"},
            {"label": "run_distribute", "value": "True"},
            {"label": "epoch_size", "value": "5"},
            {"label": "device_num", "value": "2"},
            {"label": "run_eval", "value": "True"},
        ],
        "inputs": "/main/lcm_test/dataset/imagenet_small/",
        "code_dir": "/main/lcm_test/resnet/",
        "boot_file": "/main/lcm_test/resnet/train.py",
        "job_name": "aisbench-debug",
        "framework_type": "Ascend-Powered-Engine",
        "framework_version": "MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64",
        "pool_id": "None",
        "train_instance_type": "modelarts.kat1.2xlarge",
        "train_instance_count": 2,
        "out_base_url": "/main/lcm_test/result",
        "job_description_prefix": "lcm-debug desc",
    }
)

session_config_v2 = ed(
    {
        "parameters": [
            {"name": "config_path", "value": "resnet50_imagenet2012_Boost_config.yaml"},
            {"name": "enable_modelarts", "value": "True"},
            {"name": "run_distribute", "value": "True"},
            {"name": "epoch_size", "value": "5"},
            {"name": "device_num", "value": "2"},
            {"name": "run_eval", "value": "True"},
        ],
        "inputs": "/main/lcm_test/dataset/imagenet_small/",
        "code_dir": "/main/lcm_test/resnet/",
        "boot_file": "/main/lcm_test/resnet/train.py",
        "job_name": "aisbench-debug",
        "framework_type": "Ascend-Powered-Engine",
        "framework_version": "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
        "pool_id": None,
        "train_instance_type": "modelarts.kat1.2xlarge",
        "train_instance_count": 2,
        "out_base_url": "/main/lcm_test/result/",
        "job_description_prefix": "lcm-debug desc",
    }
)
