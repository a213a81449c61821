"""The model repository: Danlu models and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from danlu.errors import NotFound
from danlu.wire.models import ModelOut, ModelVersionOut
from tikit.catalogue import Catalogue, image_id
from tikit.models import ReasoningEnvironment
from tikit.session import refuse, request_id, translated
from tikit.task_spec import CosPlace, store_path, tag_dict
from tikit.task_view import cos_path, moment, tag_list
from tikit.tencentcloud.tione.v20211111 import models as wire

FORMATS = [
    "PYTORCH",
    "TORCH_SCRIPT",
    "DETECTRON2",
    "SAVED_MODEL",
    "FROZEN_GRAPH",
    "PMML",
    "MMDETECTION",
    "ONNX",
    "HUGGING_FACE",
]
MODEL_FOLDER = "model/"
"""Folder in a task's output where tasks store their model."""

ENVIRONMENT, SOURCE = "inference-environment", "inference-source"
"""Tags of a version: name of its environment, and whether that is one of the platform."""


class _Version(NamedTuple):
    """Arguments common to all ways of registering."""

    reasoning_env: ReasoningEnvironment
    model_format: str
    metrics_text: Optional[str]
    tags: Optional[Sequence[Any]]


class Repository(Catalogue):
    @translated
    def create_model_by_task(
        self,
        training_model_name: str,
        training_job_id: str,
        reasoning_env: ReasoningEnvironment,
        model_output_path: CosPlace,
        model_format: str,
        training_model_index: Optional[str] = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        training_model_cos_path: CosPlace = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Register a task's output as a new model: the folder `model/` if it exists, else all of it.

        `training_model_cos_path` selects a part of the output; `model_output_path`, if elsewhere, is the target of a
        copy. Models are not deleted automatically: the arguments for that have no effect.
        """
        self._check_new(training_model_name)
        version = _Version(reasoning_env, model_format, training_model_index, tags)
        return self._by_task(
            training_model_name,
            training_job_id,
            version,
            to=model_output_path,
            source=training_model_cos_path,
            is_moved=delete_task_cos_model,
        )

    @translated
    def create_model_by_cos(
        self,
        training_model_name: str,
        algorithm_framework: str,
        model_cos_path: CosPlace,
        reasoning_env: ReasoningEnvironment,
        model_format: str,
        model_index: Optional[str] = None,
        model_output_path: CosPlace = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Register files of the store as a new model."""
        self._check_new(training_model_name)
        version = _Version(reasoning_env, model_format, model_index, tags)
        return self._by_cos(
            training_model_name, algorithm_framework, model_cos_path, version, is_moved=delete_task_cos_model
        )

    @translated
    def create_model_version_by_task(
        self,
        training_model_id: str,
        training_job_id: str,
        reasoning_env: ReasoningEnvironment,
        model_output_path: CosPlace,
        model_format: str,
        training_model_index: Optional[str] = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        training_model_cos_path: CosPlace = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Like `create_model_by_task`, but create the next version of a model."""
        version = _Version(reasoning_env, model_format, training_model_index, tags)
        return self._by_task(
            self._danlu.models.get(training_model_id).name,
            training_job_id,
            version,
            to=model_output_path,
            source=training_model_cos_path,
            is_moved=delete_task_cos_model,
        )

    @translated
    def create_model_version_by_cos(
        self,
        training_model_id: str,
        algorithm_framework: str,
        model_cos_path: CosPlace,
        reasoning_env: ReasoningEnvironment,
        model_format: str,
        model_output_path: CosPlace = None,
        model_index: Optional[str] = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Like `create_model_by_cos`, but create the next version of a model."""
        version = _Version(reasoning_env, model_format, model_index, tags)
        name = self._danlu.models.get(training_model_id).name
        return self._by_cos(name, algorithm_framework, model_cos_path, version, is_moved=delete_task_cos_model)

    def append_model_into_existed_version_by_task(
        self,
        training_model_id: str,
        training_model_version: str,
        training_job_id: str,
        training_model_cos_path: CosPlace,
        reasoning_env: ReasoningEnvironment,
        model_output_path: CosPlace,
        model_format: str,
        training_model_index: Optional[str] = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Rejected: versions are immutable."""
        raise _fixed(training_model_id, training_model_version)

    def append_model_into_existed_version_by_cos(
        self,
        training_model_id: str,
        training_model_version: str,
        model_cos_path: CosPlace,
        model_format: str,
        reasoning_env: ReasoningEnvironment,
        model_output_path: CosPlace,
        model_index: Optional[str] = None,
        model_auto_clean: Optional[str] = None,
        model_clean_period: Optional[int] = None,
        max_reserved_models: Optional[int] = None,
        delete_task_cos_model: bool = False,
        tags: Optional[Sequence[Any]] = None,
        is_qat: bool = False,
    ) -> wire.CreateTrainingModelResponse:
        """Rejected: versions are immutable."""
        raise _fixed(training_model_id, training_model_version)

    @translated
    def describe_training_models(
        self,
        filters: Optional[Sequence[Any]] = None,
        order_field: Optional[str] = None,
        order: Optional[str] = None,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
        tag_filters: Optional[Sequence[Any]] = None,
    ) -> wire.DescribeTrainingModelsResponse:
        """List the models that you have access to, newest first.

        Filters: keyword, TrainingModelId, TrainingModelSource, ModelFormat, ModelVersionType.
        """
        found = [model for model in self._danlu.models.list() if _is_wanted(model, filters, tag_filters)]
        found.sort(key=lambda model: model.created_at, reverse=order != "ASC")
        page = found[offset or 0 :][: limit or None]
        return wire.DescribeTrainingModelsResponse.new(
            TrainingModels=[_model(model) for model in page], TotalCount=len(found), RequestId=request_id()
        )

    @translated
    def describe_training_model_versions(self, training_model_id: str) -> wire.DescribeTrainingModelVersionsResponse:
        model = self._danlu.models.get(training_model_id)
        found = [self._version(version, model.id) for version in self._danlu.models.versions(training_model_id)]
        return wire.DescribeTrainingModelVersionsResponse.new(TrainingModelVersions=found, RequestId=request_id())

    @translated
    def describe_training_model_version(
        self, training_model_version_id: str
    ) -> wire.DescribeTrainingModelVersionResponse:
        found = self._danlu.models.version(training_model_version_id)
        model = self._danlu.models.get(f"{found.project}/{found.model}")
        return wire.DescribeTrainingModelVersionResponse.new(
            TrainingModelVersion=self._version(found, model.id), RequestId=request_id()
        )

    @translated
    def delete_training_model(
        self, training_model_id: str, enable_delete_cos: bool = True, model_version_type: Optional[str] = None
    ) -> wire.DeleteTrainingModelResponse:
        """Delete a model with all versions and, by default, the files that belong to these versions."""
        self._danlu.models.delete(training_model_id, files=enable_delete_cos)
        return wire.DeleteTrainingModelResponse.new(RequestId=request_id())

    @translated
    def delete_training_model_version(
        self, training_model_version_id: str, enable_delete_cos: bool = True
    ) -> wire.DeleteTrainingModelVersionResponse:
        """Delete a version and, by default, the files that belong to it."""
        found = self._danlu.models.version(training_model_version_id)
        named = f"{found.project}/{found.model}:{found.version}"
        self._danlu.models.delete_version(named, files=enable_delete_cos)
        return wire.DeleteTrainingModelVersionResponse.new(RequestId=request_id())

    def _by_task(
        self, name: str, task_id: str, version: _Version, *, to: CosPlace, source: CosPlace, is_moved: bool
    ) -> wire.CreateTrainingModelResponse:
        job = self._danlu.jobs.get(task_id).details
        framework = job.spec.get("env", {}).get("TI_FRAMEWORK_NAME") or job.spec.get("framework") or ""
        fields = self._fields(version, framework)
        folder = _inside(source, job.output)
        if source and folder is None:
            raise refuse(f"training_model_cos_path: expected a folder below {job.output}, got {store_path(source)}")
        if to and _inside(to, job.output) is None:
            fields["to"] = store_path(to)
        folder = folder or self._model_folder(job.output)
        made = self._danlu.models.register(name, job=job.id, folder=folder or None, project=job.project, **fields)
        if is_moved:  # only what was copied, not the rest of the output
            self._danlu.store.delete(f"{job.output}{folder}")
        return self._created(made)

    def _model_folder(self, output: str) -> str:
        """Return the part of a task's output to register by default."""
        return MODEL_FOLDER if self._danlu.store.exists(f"{output}{MODEL_FOLDER}") else ""

    def _by_cos(
        self, name: str, framework: str, source: CosPlace, version: _Version, *, is_moved: bool
    ) -> wire.CreateTrainingModelResponse:
        path = store_path(source)
        made = self._danlu.models.register(name, path=path, **self._fields(version, framework))
        if is_moved:
            self._danlu.store.delete(path)
        return self._created(made)

    def _fields(self, version: _Version, framework: str) -> dict[str, Any]:
        if version.model_format not in FORMATS:
            raise refuse(f"model_format: expected one of {', '.join(FORMATS)}, got {version.model_format!r}")
        tags = tag_dict(version.tags)
        env = version.reasoning_env
        if env.Source == "SYSTEM" and env.ImageKey is not None:
            found = self._environment(env.ImageKey)
            tags |= {ENVIRONMENT: found.name, SOURCE: "SYSTEM"}
            image = found.image
        else:
            tags |= {SOURCE: env.ImageType or env.Source}
            image = env.ImageUrl
        metrics, text = _index(version.metrics_text)
        return {
            "format": version.model_format.lower(),
            "framework": framework,
            "image": image,
            "tags": tags,
            "metrics": metrics,
            "description": text,
        }

    def _check_new(self, name: str) -> None:
        try:
            self._danlu.models.get(name)
        except NotFound:
            return
        raise refuse(
            f"training_model_name: there is a model {name!r} already; add a version with create_model_version_by_task",
            "InvalidParameterValue.DuplicateName",
        )

    def _created(self, made: ModelVersionOut) -> wire.CreateTrainingModelResponse:
        model = self._danlu.models.get(f"{made.project}/{made.model}")
        return wire.CreateTrainingModelResponse.new(Id=model.id, TrainingModelVersionId=made.id, RequestId=request_id())

    def _version(self, found: ModelVersionOut, model_id: str) -> wire.TrainingModelVersionDTO:
        name = found.tags.get(ENVIRONMENT)
        environment = name or found.environment.image or ""
        where = found.path and cos_path(found.path, self._region)
        return wire.TrainingModelVersionDTO.new(
            TrainingModelId=model_id,
            TrainingModelVersionId=found.id,
            TrainingModelVersion=f"v{found.version}",
            TrainingModelSource="JOB" if found.job is not None else "COS",
            TrainingModelCreateTime=moment(found.created_at),
            CreateTime=moment(found.created_at),
            TrainingModelCreator=found.owner,
            AlgorithmFramework=found.framework,
            ReasoningEnvironment=environment,
            ReasoningEnvironmentSource=found.tags.get(SOURCE, "CUSTOM" if found.environment.image else ""),
            ReasoningEnvironmentId=image_id(name) if name else "",
            ReasoningImageInfo=wire.ImageInfo.new(
                ImageType=found.tags.get(SOURCE, ""), ImageUrl=found.environment.image or "", ImageName=environment
            ),
            TrainingModelIndex=",".join(
                f"{key}={value:g}" for key, value in found.metrics.items() if value is not None
            ),
            TrainingJobName=found.source_name if found.job is not None else "",
            TrainingJobId=found.job or "",
            TrainingModelCosPath=where or None,
            TrainingModelName=found.model,
            TrainingModelStatus="STATUS_SUCCESS",
            TrainingModelProgress=100,
            TrainingModelErrorMsg="",
            TrainingModelFormat=found.format.upper(),
            VersionType="NORMAL",
            AutoClean="false",
            IsQAT=False,
        )


def _index(text: Optional[str]) -> tuple[dict[str, float], str]:
    """Parse `acc=0.9,loss=0.1` as metrics; any other text is a description."""
    metrics = {}
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        try:
            metrics[name.strip()] = float(value)
        except ValueError:
            return {}, text or ""
    return metrics, ""


def _inside(place: CosPlace, output: str) -> Optional[str]:
    """Return the path relative to the output, empty for all of it; None if it is outside."""
    if not place:
        return ""
    path, whole = store_path(place).rstrip("/") + "/", output.rstrip("/") + "/"
    return path[len(whole) :] if path.startswith(whole) else None


def _fixed(model: str, version: str) -> Exception:
    return refuse(
        f"{model} {version}: a version does not change once it is there; add one with create_model_version_by_task or "
        "create_model_version_by_cos",
        "UnsupportedOperation",
    )


def _model(model: ModelOut) -> wire.TrainingModelDTO:
    return wire.TrainingModelDTO.new(
        TrainingModelId=model.id,
        TrainingModelName=model.name,
        Tags=tag_list(model.tags),
        CreateTime=moment(model.created_at),
    )


def _is_wanted(model: ModelOut, filters: Optional[Sequence[Any]], tag_filters: Optional[Sequence[Any]]) -> bool:
    newest = model.latest
    known = {
        "keyword": model.name,
        "TrainingModelId": model.id,
        "TrainingModelSource": "" if newest is None else "JOB" if newest.job else "COS",
        "ModelFormat": "" if newest is None else newest.format.upper(),
        "ModelVersionType": "NORMAL",
    }
    for one in filters or ():
        name, values = (one.get("Name"), one.get("Values")) if isinstance(one, dict) else (one.Name, one.Values)
        if name not in known:
            told = f"filters: expected a Name of {', '.join(known)}, got {name!r}"
            raise refuse(told, "InvalidParameterValue.InvalidFilter")
        if not any(value == known[name] or (name == "keyword" and value in known[name]) for value in values or ()):
            return False
    for one in tag_filters or ():
        key, values = (one["TagKey"], one.get("TagValues")) if isinstance(one, dict) else (one.TagKey, one.TagValues)
        if key not in model.tags or (values and model.tags[key] not in values):
            return False
    return True
