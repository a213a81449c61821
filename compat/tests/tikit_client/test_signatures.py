"""Calls have the names, the order and the defaults of tikit 1.9.5."""

from __future__ import annotations

import inspect

import pytest

from tikit import models
from tikit.client import Client
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

TAIL = "model_auto_clean=None, model_clean_period=None, max_reserved_models=None, is_qat=False"
BY_TASK = (
    "training_job_id, reasoning_env, model_output_path, model_format, training_model_index=None, "
    f"delete_task_cos_model=False, tags=None, training_model_cos_path=None, {TAIL}"
)
APPEND_TAIL = (
    "model_auto_clean=None, model_clean_period=None, max_reserved_models=None, delete_task_cos_model=False, tags=None, "
    "is_qat=False"
)
GROUPS = "offset=0, limit=20, search_word='', tag_filters=None"
CALLS = {
    "__init__": "secret_id=None, secret_key=None, region=None, token=None, proxies=None, tione_endpoint=None",
    "get_client_info": "",
    "describe_cos_buckets": "",
    "is_cos_dir": "bucket, path",
    "check_object_exist": "bucket, cos_path",
    "mkdir": "bucket, cos_path",
    "upload_to_cos": "local_path, bucket, cos_path",
    "describe_cos_path": "bucket, path, maker='', max_keys=1000, encoding_type=''",
    "delete_cos_files": "bucket, file_infos",
    "delete_cos_path": "bucket, delete_path",
    "download_from_cos": "bucket, cos_path, local_path",
    "get_cos_sub_files": "bucket, prefix",
    "parse_cos_info": "cos_str",
    "create_training_task": (
        "name='', framework=None, cos_output=None, worker_resource=None, code_package_path=None, code_repos=None, "
        "ps_resource=None, head_resource=None, worker_resource_group=None, input_data_config=None, "
        "worker_start_cmd=None, ps_start_cmd=None, tags=None, tuning_parameters_dict={}, resource_group_id='', "
        "remark=None, log_enable=False, log_logset_id=None, log_topic_id=None, vpc_id=None, sub_net_id=None, "
        "enable_rdma=False, restart_limit=0"
    ),
    "describe_training_tasks": (
        "filters=None, tag_filters=None, offset=0, limit=50, order='DESC', order_field='UpdateTime'"
    ),
    "describe_training_task": "task_id",
    "start_training_task": "task_id",
    "stop_training_task": "task_id",
    "delete_training_task": "task_id",
    "describe_training_task_pods": "task_id",
    "describe_training_frameworks": "",
    "push_training_metrics": "timestamp, value_map, task_id=None, epoch=None, total_steps=None, step=None",
    "push_training_metrics_list": "metric_list",
    "describe_training_metrics": "task_id",
    "describe_train_logs": (
        "pod_name, start_time=None, end_time=None, limit=None, order=None, context=None, filters=None"
    ),
    "save_log": (
        "path, compress=None, service=None, id=None, pod_name=None, start_time=None, end_time=None, order=None"
    ),
    "describe_postpaid_training_price": "",
    "describe_postpaid_reasoning_price": "",
    "describe_resource_groups": GROUPS,
    "describe_train_resource_groups": GROUPS,
    "describe_inference_resource_groups": GROUPS,
    "create_model_by_task": f"training_model_name, {BY_TASK}",
    "create_model_version_by_task": f"training_model_id, {BY_TASK}",
    "create_model_by_cos": (
        "training_model_name, algorithm_framework, model_cos_path, reasoning_env, model_format, model_index=None, "
        f"model_output_path=None, delete_task_cos_model=False, tags=None, {TAIL}"
    ),
    "create_model_version_by_cos": (
        "training_model_id, algorithm_framework, model_cos_path, reasoning_env, model_format, model_output_path=None, "
        f"model_index=None, delete_task_cos_model=False, tags=None, {TAIL}"
    ),
    "append_model_into_existed_version_by_task": (
        "training_model_id, training_model_version, training_job_id, training_model_cos_path, reasoning_env, "
        f"model_output_path, model_format, training_model_index=None, {APPEND_TAIL}"
    ),
    "append_model_into_existed_version_by_cos": (
        "training_model_id, training_model_version, model_cos_path, model_format, reasoning_env, model_output_path, "
        f"model_index=None, {APPEND_TAIL}"
    ),
    "describe_training_models": (
        "filters=None, order_field=None, order=None, offset=None, limit=None, tag_filters=None"
    ),
    "describe_training_model_versions": "training_model_id",
    "describe_training_model_version": "training_model_version_id",
    "delete_training_model": "training_model_id, enable_delete_cos=True, model_version_type=None",
    "delete_training_model_version": "training_model_version_id, enable_delete_cos=True",
    "describe_system_reasoning_images": "",
    "describe_infer_templates": "",
    "describe_reasoning_env": "",
}
IMAGE = "image_type, image_url, registry_region=None, registry_id=None"
MODELS = {
    "ResourceConfigInfo.__init__": (
        "charge_type, instance_type=None, instance_num=None, cpu=None, memory=None, gpu_type=None, gpu=None"
    ),
    "ResourceConfigInfo.new_postpaid": "instance_type, instance_num=1",
    "ResourceConfigInfo.new_prepaid": "cpu=0, memory=0, gpu=0, gpu_type=None, instance_num=1",
    "FrameworkInfo.__init__": (
        "name, training_mode, framework_environment=None, image_type=None, image_url=None, registry_region=None, "
        "registry_id=None, user_name=None, passwd=None"
    ),
    "FrameworkInfo.new_system_framework": "framework_name, framework_environment, training_mode",
    "FrameworkInfo.new_custom": f"training_mode, {IMAGE}, user_name=None, passwd=None",
    "FrameworkInfo.new_custom_image": IMAGE,
    "TrainingDataConfig.__init__": "",
    "TrainingDataConfig.new_mount_cos": "cos_str, target_path",
    "TrainingDataConfig.new_mount_cosfs": "cos_str, target_path",
    "TrainingDataConfig.new_dataset_mount": "dataset_id, target_path",
    "TrainingDataConfig.new_mount_cfs": "cfs_id, source_path, target_path",
    "TrainingDataConfig.new_mount_cfs_turbofs": "cfs_turbofs_id, source_path, target_path",
    "TrainingDataConfig.new_mount_hdfs": "hdfs_id, source_path, target_path",
    "TrainingDataConfig.new_mount_wedata_hdfs": "wedata_id, source_path",
    "TrainingDataConfig.new_mount_goosefs": "goosefs_id, source_path, namespace, target_path",
    "TrainingDataConfig.new_mount_goosefsx": "goosefsx_id, goosefsx_path, target_path",
    "TrainingDataConfig.new_algo_model": "ai_market_algo_id, ai_market_algo_group, target_path",
    "TrainingDataConfig.new_ai_market_algo": "ai_market_algo_id, target_path",
    "TrainingDataConfig.new_dataset": "id_target_dict",
    "TrainingDataConfig.new_cos_data": "cos_str_target_dict",
    "ReasoningEnvironment.__init__": (
        "source, image_key=None, image_type=None, image_url=None, registry_region=None, registry_id=None"
    ),
    "ReasoningEnvironment.new_system_environment": "image_key",
    "ReasoningEnvironment.new_custom_environment": IMAGE,
    "CosPathInfo.__init__": "bucket, path, region=None, uin=None, sub_uin=None",
}


def told(function: object) -> str:
    """Names, order and defaults, without types."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return ", ".join(str(one) for one in plain if one.name != "self")


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_the_client(name: str) -> None:
    assert told(getattr(Client, name)) == CALLS[name]


@pytest.mark.parametrize("name", MODELS)
def test_constructors_of_models(name: str) -> None:
    kind, _, method = name.partition(".")
    assert told(getattr(getattr(models, kind), method)) == MODELS[name]


def test_every_call_of_the_client_is_listed() -> None:
    public = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert public == set(CALLS) - {"__init__"}


def test_the_error_has_the_parts_that_scripts_read() -> None:
    assert told(TencentCloudSDKException) == "code=None, message=None, requestId=None"
    error = TencentCloudSDKException("AuthFailure", "no such key", "r-1")
    assert (error.get_code(), error.get_message(), error.get_request_id()) == ("AuthFailure", "no such key", "r-1")
    assert str(error) == "[TencentCloudSDKException] code:AuthFailure message:no such key requestId:r-1"
