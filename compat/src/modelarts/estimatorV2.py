"""`modelarts.estimatorV2.Estimator`: the second version of ModelArts. Inputs and outputs are folders of the job."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any, Optional, Union

from danlu.client import Client, Job
from danlu.errors import DanluError, InvalidInput, NotFound
from modelarts.jobs import duration_ms, job_values
from modelarts.paths import store_path
from modelarts.session import Session
from modelarts.states import INSTANCE_TYPES, JOB_STATE, PHASES
from modelarts.train_params import InputData, OutputData, TrainingFiles

__all__ = ["JOB_STATE", "Estimator", "JobInstance"]
NOT_A_FOLDER = "ModelArts.2791"


class JobInstance:
    """A started job, or the reason why it could not be started."""

    def __init__(self, danlu: Client, job: Optional[Job], *, output: str = "", problem: str = "") -> None:
        self._danlu, self.job = danlu, job
        self._output, self._problem = output, problem
        self._is_copied = not output

    def get_job_info(self) -> dict[str, Any]:
        if self.job is None:
            told = {"error_code": "ModelArts.2770", "error_solution": "correct the description of the job"}
            return {"error_msg": self._problem, **told}
        job = self.job.refresh()
        if job.is_over:
            self._copy_outputs(job)
        return info(job)

    def control_job(self) -> dict[str, Any]:
        assert self.job is not None, self._problem
        return stop(self._danlu, self.job)

    def _copy_outputs(self, job: Job) -> None:
        """Copy the results from the job's output to the folder that the script named, where it looks for them."""
        if self._is_copied:
            return
        with tempfile.TemporaryDirectory(prefix="modelarts-") as folder:
            try:
                self._danlu.store.download(job.output, folder)
            except NotFound:
                self._is_copied = True
                return
            self._danlu.store.upload(folder, self._output)
        self._is_copied = True


class Estimator:
    def __init__(
        self,
        session: Session,
        training_files: Optional[TrainingFiles] = None,
        outputs: Sequence[OutputData] = (),
        **told: Any,
    ) -> None:
        """`told` describes the job: framework, parameters, machines."""
        self._danlu = session.danlu
        self._files, self._outputs, self._told = training_files, tuple(outputs), told

    def fit(
        self, inputs: Sequence[InputData] = (), wait: bool = True, job_name: Optional[str] = None, **options: Any
    ) -> JobInstance:
        del options
        name = str(job_name or "modelarts-job")
        try:
            named: list[Union[InputData, OutputData]] = [*inputs, *self._outputs]
            for one in named:
                if not one.obs_path.endswith("/"):
                    raise InvalidInput(
                        f"{NOT_A_FOLDER}: {one.name}: expected a path that ends in /, got {one.obs_path!r}"
                    )
            job = self._danlu.jobs.submit(self._values(inputs, name))
        except DanluError as error:
            return JobInstance(self._danlu, None, problem=error.message)
        output = store_path(self._outputs[0].obs_path) if self._outputs else ""
        instance = JobInstance(self._danlu, job, output=output)
        if wait:
            job.wait()
        return instance

    @staticmethod
    def get_train_instance_types(session: Session, **options: Any) -> list[str]:
        del session, options
        return list(INSTANCE_TYPES)

    @staticmethod
    def control_job_by_id(session: Session, job_id: str) -> dict[str, Any]:
        """Stop a job; does nothing if it has ended."""
        return stop(session.danlu, session.danlu.jobs.get(job_id))

    def _values(self, inputs: Sequence[InputData], name: str) -> dict[str, Any]:
        told = {**self._told, "job_name": name}
        if self._files is not None:
            told.update(code_dir=store_path(self._files.code_dir), boot_file=store_path(self._files.boot_file))
            told = {key: _plain(value) if key in ("code_dir", "boot_file") else value for key, value in told.items()}
        values = job_values(told, version="V1")
        values["data"] = {store_path(one.obs_path): one.name for one in inputs}
        if self._outputs:
            # below the named folder, separate from other files there
            values["output"] = store_path(self._outputs[0].obs_path)
        return values


def info(job: Job) -> dict[str, Any]:
    created = int(job.row.created_at.timestamp() * 1000)
    return {
        "metadata": {"id": job.id, "name": job.name, "create_time": created},
        "status": {"phase": PHASES[job.state], "duration": duration_ms(job)},
    }


def stop(danlu: Client, job: Job) -> dict[str, Any]:
    if not job.refresh().is_over:
        danlu.jobs.stop([job])
        job.wait()
    return info(job)


def _plain(path: str) -> str:
    return "/" + path[len("store://") :]
