"""`modelarts.estimator.Estimator`: the first version of ModelArts. A job name has versions V1, V2, ..."""

from __future__ import annotations

from typing import Any, Optional

from danlu.client import Job
from danlu.errors import DanluError
from modelarts.jobs import NAME_TAG, VERSION_TAG, duration_ms, first_values, newest, versions
from modelarts.session import Session
from modelarts.states import INSTANCE_TYPES, JOB_STATE, STATUS

__all__ = ["JOB_STATE", "Estimator"]


class Estimator:
    def __init__(
        self,
        modelarts_session: Session,
        *,
        job_id: Optional[str] = None,
        version_id: Optional[str] = None,
        output_path: Optional[str] = None,
        **told: Any,
    ) -> None:
        """`told` describes the job: framework, code, boot file, hyperparameters, machines."""
        self._danlu = modelarts_session.danlu
        self._told = told
        self._output = output_path
        self._job: Optional[Job] = None
        self._problem: Optional[str] = None
        known = version_id or job_id
        if known is not None:
            self._job = self._danlu.jobs.get(str(known))

    def fit(
        self, inputs: Optional[str] = None, wait: bool = True, job_name: Optional[str] = None, **options: Any
    ) -> Estimator:
        """Start the job; with `wait`, wait for its end. `get_job_info` reports failures."""
        del options
        return self._start(inputs, wait, str(job_name or "modelarts-job"))

    def create_job_version(
        self,
        job_id: Optional[str] = None,
        pre_version_id: Optional[str] = None,
        inputs: Optional[str] = None,
        wait: bool = True,
        job_desc: Optional[str] = None,
    ) -> Estimator:
        """Start the next version of a job."""
        del job_desc
        before = self._danlu.jobs.get(str(pre_version_id or job_id))
        return self._start(inputs, wait, before.row.tags.get(NAME_TAG, before.name))

    def get_job_info(self) -> dict[str, Any]:
        if self._job is None:
            return {"is_success": False, "error_msg": self._problem or "the job was not started", "status": 5}
        job = self._job.refresh()
        return {
            "is_success": True,
            "error_msg": "" if not job.is_over else job.reason.message,
            "status": STATUS[job.state],
            "duration": duration_ms(job),
            "job_id": job.id,
            "version_id": job.id,
            "resource_id": job.id,
            "job_name": job.row.tags.get(NAME_TAG, job.name),
            "version_name": job.row.tags.get(VERSION_TAG, "V1"),
            "create_time": int(job.row.created_at.timestamp() * 1000),
        }

    def stop_job_version(self) -> dict[str, Any]:
        assert self._job is not None, "the job was not started"
        self._danlu.jobs.stop([self._job])
        return {"is_success": True}

    @property
    def job(self) -> Optional[Job]:
        """The Danlu job."""
        return self._job

    @staticmethod
    def get_job_list(
        modelarts_session: Session,
        per_page: int = 10,
        page: int = 1,
        order: str = "asc",
        search_content: str = "",
        **options: Any,
    ) -> dict[str, Any]:
        """Return the jobs of a name, newest version first."""
        del order, options
        found = list(versions(modelarts_session.danlu, search_content))
        shown = found[(page - 1) * per_page : page * per_page]
        jobs = [
            {
                "job_id": job.id,
                "version_id": job.id,
                "job_name": search_content,
                "status": STATUS[job.state],
                "version_name": job.row.tags[VERSION_TAG],
            }
            for job in shown
        ]
        return {"is_success": True, "job_total_count": len(found), "jobs": jobs}

    @staticmethod
    def get_train_instance_types(modelarts_session: Session) -> list[str]:
        del modelarts_session
        return list(INSTANCE_TYPES)

    def _start(self, inputs: Optional[str], wait: bool, name: str) -> Estimator:
        before = newest(self._danlu, name)
        number = 1 if before is None else int(before.row.tags[VERSION_TAG][1:]) + 1
        told = {**self._told, "job_name": name}
        try:
            values = first_values(told, inputs=inputs or "", output=self._output or "", version=f"V{number}")
            self._job = self._danlu.jobs.submit(values)
        except DanluError as error:
            self._problem = error.message
            return self
        if wait:
            self._job.wait()
        return self
