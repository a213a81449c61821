"""Convert requests CreateTrainingModel of TI-ONE's API to calls of tikit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tikit import models
from tikit.door_tasks import UNSUPPORTED, cos_str
from tikit.session import refuse

if TYPE_CHECKING:
    from tikit.client import Client

Values = Mapping[str, Any]


def create_training_model(client: Client, values: Values) -> Any:
    how = values.get("ImportMethod")
    if values.get("ModelVersionType") not in (None, "NORMAL"):
        raise refuse(f"ModelVersionType: expected NORMAL, got {values['ModelVersionType']!r}", UNSUPPORTED)
    if how == "EXIST":
        call = client.append_model_into_existed_version_by_cos
        return call(
            values["TrainingModelId"],
            values["TrainingModelVersion"],
            cos_str(values.get("TrainingModelCosPath")),
            values["ModelFormat"],
            _environment(values),
            cos_str(values.get("ModelOutputPath")),
        )
    if how not in ("MODEL", "VERSION"):
        raise refuse(f"ImportMethod: expected MODEL, VERSION or EXIST, got {how!r}")
    named = values["TrainingModelName"] if how == "MODEL" else values["TrainingModelId"]
    more: dict[str, Any] = {
        "tags": values.get("Tags"),
        "delete_task_cos_model": values.get("ModelMoveMode") == "CUT",
    }
    if values.get("TrainingModelSource") == "JOB":
        by_task = client.create_model_by_task if how == "MODEL" else client.create_model_version_by_task
        return by_task(
            named,
            values["TrainingJobId"],
            _environment(values),
            cos_str(values.get("ModelOutputPath")),
            values["ModelFormat"],
            training_model_index=values.get("TrainingModelIndex"),
            training_model_cos_path=cos_str(values.get("TrainingModelCosPath")),
            **more,
        )
    by_cos = client.create_model_by_cos if how == "MODEL" else client.create_model_version_by_cos
    return by_cos(
        named,
        values.get("AlgorithmFramework") or "",
        cos_str(values.get("TrainingModelCosPath")),
        _environment(values),
        values["ModelFormat"],
        model_index=values.get("TrainingModelIndex"),
        **more,
    )


def _environment(values: Values) -> models.ReasoningEnvironment:
    image = values.get("ReasoningImageInfo") or {}
    if values.get("ReasoningEnvironmentSource") == "CUSTOM" or image.get("ImageUrl"):
        return models.ReasoningEnvironment.new_custom_environment(
            image.get("ImageType") or "CCR", image["ImageUrl"], image.get("RegistryRegion"), image.get("RegistryId")
        )
    key = values.get("ReasoningEnvironmentId") or values.get("ReasoningEnvironment")
    return models.ReasoningEnvironment.new_system_environment(str(key or ""))
