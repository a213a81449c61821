"""ModelArts states for the states of Danlu jobs."""

from __future__ import annotations

from danlu.spec.states import JobState

JOB_STATE = [
    "JOBSTAT_UNKNOWN",
    "JOBSTAT_INIT",
    "JOBSTAT_IMAGE_CREATING",
    "JOBSTAT_IMAGE_FAILED",
    "JOBSTAT_SUBMIT_TRYING",
    "JOBSTAT_SUBMIT_FAILED",
    "JOBSTAT_DELETE_FAILED",
    "JOBSTAT_WAITING",
    "JOBSTAT_RUNNING",
    "JOBSTAT_KILLING",
    "JOBSTAT_COMPLETED",
    "JOBSTAT_FAILED",
    "JOBSTAT_KILLED",
    "JOBSTAT_CANCELED",
    "JOBSTAT_LOST",
    "JOBSTAT_SCALING",
    "JOBSTAT_SUBMIT_MODEL_FAILED",
    "JOBSTAT_DEPLOY_SERVICE_FAILED",
    "JOBSTAT_CHECK_INIT",
    "JOBSTAT_CHECK_RUNNING",
    "JOBSTAT_CHECK_RUNNING_COMPLETED",
    "JOBSTAT_CHECK_FAILED",
    "JOBSTAT_MOUNT_FAILED",
]
"""Index in the list = state number in the first version of ModelArts."""

STATUS = {
    JobState.QUEUED: 7,
    JobState.STARTING: 1,
    JobState.RUNNING: 8,
    JobState.STOPPING: 9,
    JobState.PAUSED: 7,
    JobState.SUCCEEDED: 10,
    JobState.FAILED: 11,
    JobState.STOPPED: 12,
}
PHASES = {
    JobState.QUEUED: "Pending",
    JobState.STARTING: "Creating",
    JobState.RUNNING: "Running",
    JobState.STOPPING: "Terminating",
    JobState.PAUSED: "Pending",
    JobState.SUCCEEDED: "Completed",
    JobState.FAILED: "Failed",
    JobState.STOPPED: "Terminated",
}
INSTANCE_TYPES = ("modelarts.kat1.xlarge", "modelarts.kat1.2xlarge", "modelarts.kat1.4xlarge", "modelarts.kat1.8xlarge")
