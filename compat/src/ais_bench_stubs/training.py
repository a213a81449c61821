"""Run the training that the configuration describes: start, follow, read results."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Optional

from ais_bench_stubs import results
from ais_bench_stubs.config import Stubs
from danlu.client import Job
from danlu.errors import DanluError, NotFound
from danlu.spec.states import JobState
from modelarts.estimator import JOB_STATE
from modelarts.estimator import Estimator as FirstEstimator
from modelarts.estimatorV2 import Estimator as SecondEstimator
from modelarts.jobs import duration_ms, newest
from modelarts.paths import obs_path, store_path
from modelarts.session import Session
from modelarts.states import PHASES, STATUS
from modelarts.train_params import InputData, OutputData, TrainingFiles

PRE_START = "ma-pre-start.sh"
_CARDS = re.compile(r"modelarts\.kat1\.([1248]?)xlarge")
STOP_LIMIT_SECONDS = 600.0
Say = Callable[[str], None]


class TrainingFailed(Exception):
    """The job did not succeed."""


class Training:
    """A test: call `start`, `follow`, `result`; `stop` at any time."""

    def __init__(self, stubs: Stubs, say: Say) -> None:
        self._stubs, self._say = stubs, say
        self._config: Mapping[str, Any] = stubs.session
        access = stubs.access
        if access.get("modelarts_endpoint"):
            Session.set_endpoint(modelarts_endpoint=access["modelarts_endpoint"])
        elif access.get("server"):
            Session.set_endpoint(modelarts_endpoint=access["server"])
        self.session = Session(
            access_key=access.get("access_key"),
            secret_key=access.get("secret_access_key"),
            project_id=access.get("project_id"),
            region_name=access.get("region_name"),
        )
        self._danlu = self.session.danlu
        self.job: Optional[Job] = None
        self._output = ""

    @property
    def name(self) -> str:
        """The configured name of the job."""
        return str(self._config["job_name"])

    def who(self) -> str:
        return self._danlu.me().name

    def start(self) -> None:
        """Upload the code and start the job. Raises TrainingFailed with the reason if the job is rejected."""
        set_single_server(self._stubs.code / PRE_START, is_on=self._stubs.is_single_server)
        self._say(f"get valid train_instance_types:{FirstEstimator.get_train_instance_types(self.session)}")
        try:
            self._danlu.store.upload(self._stubs.code, store_path(str(self._config["code_dir"])).rstrip("/") + "/")
            self.job = self._start_first() if self._stubs.version == "V1" else self._start_second()
        except DanluError as error:
            raise TrainingFailed(f"failed to run job on modelarts, msg {error.message}") from error

    def follow(self, *, limit_seconds: float) -> None:
        """Wait for the end of the job and print state changes; store logs in `log/`. Raises TimeoutError."""
        assert self.job is not None
        told = ""
        for _ in self.job.watch(time.monotonic() + limit_seconds):
            state = self._state(self.job)
            line = f"waiting for task, {state}, total time: {duration_ms(self.job) // 1000}(s)"
            if state != told and not self.job.is_over:
                self._say(line)
                told = state
        self._keep_logs(self.job)
        if self.job.state is not JobState.SUCCEEDED:
            self._say(f"task failed, {self._state(self.job)}, please check log on obs, exit")
            raise TrainingFailed(f"{self.job.id} {self.job.state}: {self.job.reason.message}")
        self._say(f"task succeeded, total time {duration_ms(self.job) // 1000}(s)")

    def result(self) -> results.Result:
        """Return the results. Raises MissingResult with the rank."""
        assert self.job is not None
        details = self.job.details
        per_server = int(str(details.device).rpartition(":")[2] or 1)
        if self._stubs.is_single_server:
            return results.single_servers(self._read, num_servers=details.nodes, per_server=per_server)
        return results.normal(self._read, num_ranks=details.nodes * per_server)

    def stop(self) -> None:
        """Stop the newest job of the configured name; print a message if there is nothing to stop."""
        job = self.job or self._newest()
        if job is None:
            self._say("find no match version return")
            return
        name = self._config["job_name"]
        if job.refresh().is_over:
            self._say(f"jobname:{name} jobid:{job.id} jobstatus:{JOB_STATE[STATUS[job.state]]} no need stop")
            return
        self._danlu.jobs.stop([job])
        job.wait(STOP_LIMIT_SECONDS)
        self._say(f"jobname:{name} jobid:{job.id} jobstatus:{JOB_STATE[STATUS[job.state]]} stop status:True")
        self._say(f"job stop status: {PHASES[job.state]}")

    def _start_first(self) -> Job:
        config = self._config
        before = newest(self._danlu, str(config["job_name"]))
        number = 1 if before is None else int(before.row.tags["modelarts-version"][1:]) + 1
        self._output = f"{obs_path(str(config['out_base_url'])).rstrip('/')}/V{number}/"
        estimator = FirstEstimator(self.session, output_path=self._output, **_described(config, "hyperparameters"))
        estimator.fit(inputs=str(config.get("inputs") or ""), wait=False, job_name=str(config["job_name"]))
        return self._begun(estimator.job, estimator.get_job_info().get("error_msg"))

    def _start_second(self) -> Job:
        config = self._config
        name = f"{config['job_name']}{time.strftime('%Y_%m_%d-%H_%M_%S')}"
        self._output = f"{obs_path(str(config['out_base_url'])).rstrip('/')}/{name}/"
        estimator = SecondEstimator(
            self.session,
            training_files=TrainingFiles(str(config["code_dir"]), str(config["boot_file"])),
            outputs=[OutputData(self._output)],
            **{
                key: value
                for key, value in _described(config, "parameters").items()
                if key not in ("code_dir", "boot_file")
            },
        )
        instance = estimator.fit([InputData(str(config["inputs"]))], wait=False, job_name=name)
        return self._begun(instance.job, instance.get_job_info().get("error_msg"))

    def _begun(self, job: Optional[Job], problem: Optional[str]) -> Job:
        if job is None:
            raise TrainingFailed(f"failed to run job on modelarts, msg {problem}")
        if self._stubs.version == "V2":
            self._output = job.output
        version = job.row.tags["modelarts-version"]
        self._say(f"create sucess job_id:{job.id} version_name:{version} create_time:{job.row.created_at:%s}")
        return job

    def _newest(self) -> Optional[Job]:
        name = str(self._config["job_name"])
        if self._stubs.version == "V1":
            return newest(self._danlu, name)
        return next(
            (job for job in self._danlu.jobs.list() if job.row.tags.get("modelarts-job", "").startswith(name)), None
        )

    def _state(self, job: Job) -> str:
        if self._stubs.version == "V2":
            return f"phase {PHASES[job.state]}"
        return f"status {JOB_STATE[STATUS[job.state]]}"

    def _keep_logs(self, job: Job) -> None:
        folder = self._stubs.folder / "log"
        folder.mkdir(exist_ok=True)
        for rank in range(job.row.nodes):
            name = f"{job.id}-job-{job.name}-{rank}.log" if self._stubs.version == "V1" else _second_log(job, rank)
            with (folder / name).open("w", encoding="utf-8") as file:
                file.writelines(f"{line.text}\n" for line in job.logs(rank=rank))

    def _read(self, name: str) -> str:
        with tempfile.TemporaryDirectory(prefix="ais-bench-") as folder:
            try:
                (path,) = self._danlu.store.download(
                    f"{store_path(self._output).rstrip('/')}/{name}", Path(folder) / "x"
                )
            except NotFound as error:
                raise FileNotFoundError(error.message) from error
            return path.read_text(encoding="utf-8").strip()


def set_single_server(script: Path, *, is_on: bool) -> None:
    """Like AIS-Bench: remove the line of an earlier test, and add it if the mode is on."""
    before = script.read_text(encoding="utf-8") if script.exists() else "#!/bin/bash\n"
    lines = [line for line in before.splitlines() if "SINGLESERVER_MODE=" not in line]
    if is_on:
        lines.append("export SINGLESERVER_MODE=True")
    after = "\n".join(lines) + "\n"
    if after != before or not script.exists():
        script.write_text(after, encoding="utf-8")


def _described(config: Mapping[str, Any], parameters: str) -> dict[str, Any]:
    names = ("framework_type", "framework_version", "code_dir", "boot_file", "pool_id", "train_instance_type")
    more = ("train_instance_count", "nas_type", "nas_share_addr", "nas_mount_path", parameters)
    return {name: config.get(name) for name in (*names, *more)}


def _second_log(job: Job, rank: int) -> str:
    return f"modelarts-job-{job.id}-worker-{rank}.log"
