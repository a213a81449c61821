"""Requests of MLflow's clients. Unknown fields are ignored, since newer clients send more."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Optional

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

MAX_KEY_CHARS = 250
MAX_TAG_CHARS = 8000
MAX_PARAM_CHARS = 6000
MAX_METRICS = 1000
MAX_PARAMS = 100
MAX_TAGS = 100
MAX_DATASETS = 1000
MAX_RESULTS = 50_000
MAX_TRACES = 500
MAX_TRACE_TEXTS = 200
MAX_TRACE_IDS = 1000

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARS)]
TagValue = Annotated[str, Field(max_length=MAX_TAG_CHARS)]
Milliseconds = Annotated[int, Field(ge=0, le=253_402_300_799_000)]
Step = Annotated[int, Field(ge=-(2**62), le=2**62)]
PageToken = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=6000)]
TraceText = Annotated[str, AfterValidator(lambda text: text[:MAX_TAG_CHARS])]
"""MLflow keeps the beginning of a longer one."""


class _Sent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class Tag(_Sent):
    key: Key
    value: TagValue = ""


class Param(_Sent):
    key: Key
    value: str = Field(default="", max_length=MAX_PARAM_CHARS)


class Metric(_Sent):
    key: Key
    value: Any
    """A number; NaN and infinities arrive as strings."""

    timestamp: Milliseconds
    step: Step = 0


class CreateExperiment(_Sent):
    name: str = Field(min_length=1, max_length=400)
    artifact_location: Optional[str] = Field(default=None, max_length=2000)
    """Ignored: this server keeps the files, so that rights to a run are rights to its files."""

    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class NamedExperiment(_Sent):
    experiment_id: str = Field(max_length=40)


class UpdateExperiment(NamedExperiment):
    new_name: str = Field(min_length=1, max_length=400)


class ExperimentTag(NamedExperiment):
    key: Key
    value: TagValue = ""


class SearchExperiments(_Sent):
    max_results: int = Field(default=1000, ge=1, le=MAX_RESULTS)
    page_token: PageToken = ""
    filter: Text = ""
    order_by: list[Text] = Field(default=[], max_length=10)
    view_type: str = "ACTIVE_ONLY"


class CreateRun(_Sent):
    experiment_id: str = Field(default="0", max_length=40)
    run_name: str = Field(default="", max_length=200)
    start_time: Optional[Milliseconds] = None
    user_id: str = Field(default="", max_length=MAX_KEY_CHARS)
    """Clients send it beside the tag `mlflow.user`, or instead of it."""

    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class NamedRun(_Sent):
    run_id: str = Field(default="", max_length=100)
    run_uuid: str = Field(default="", max_length=100)

    @property
    def run(self) -> str:
        return self.run_id or self.run_uuid


class UpdateRun(NamedRun):
    status: Optional[str] = Field(default=None, max_length=20)
    end_time: Optional[Milliseconds] = None
    run_name: Optional[str] = Field(default=None, max_length=200)


class RunTag(NamedRun, Tag):
    pass


class RunKey(NamedRun):
    key: Key


class LogParam(NamedRun, Param):
    pass


class LogMetric(NamedRun, Metric):
    pass


class LogBatch(NamedRun):
    metrics: list[Metric] = Field(default=[], max_length=MAX_METRICS)
    params: list[Param] = Field(default=[], max_length=MAX_PARAMS)
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class LogModel(NamedRun):
    model_json: str = Field(max_length=MAX_TAG_CHARS)


class Dataset(_Sent):
    name: str = Field(min_length=1, max_length=500)
    digest: str = Field(min_length=1, max_length=36)
    source_type: str = Field(default="", max_length=36)
    source: str = Field(default="", max_length=65_535)
    schema_: str = Field(default="", alias="schema", max_length=1 << 20)
    profile: str = Field(default="", max_length=1 << 20)


class DatasetInput(_Sent):
    dataset: Dataset
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class LogInputs(_Sent):
    run_id: str = Field(max_length=100)
    datasets: Optional[list[DatasetInput]] = Field(default=None, max_length=MAX_DATASETS)
    models: list[Any] = Field(default=[], max_length=MAX_DATASETS)


class SearchDatasets(_Sent):
    experiment_ids: list[str] = Field(default=[], max_length=10_000)


class SearchRuns(_Sent):
    experiment_ids: list[str] = Field(default=[], max_length=10_000)
    filter: Text = ""
    run_view_type: str = "ACTIVE_ONLY"
    max_results: int = Field(default=1000, ge=1, le=MAX_RESULTS)
    order_by: list[Text] = Field(default=[], max_length=20)
    page_token: PageToken = ""


class CreateLoggedModel(NamedExperiment):
    name: str = Field(default="", max_length=MAX_KEY_CHARS)
    model_type: str = Field(default="", max_length=MAX_KEY_CHARS)
    source_run_id: str = Field(default="", max_length=100)
    params: list[Param] = Field(default=[], max_length=MAX_PARAMS)
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class FinalizeLoggedModel(_Sent):
    status: str = Field(max_length=40)


class TagLoggedModel(_Sent):
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)


class ParamsOfLoggedModel(_Sent):
    params: list[Param] = Field(default=[], max_length=MAX_PARAMS)


class SearchLoggedModels(_Sent):
    experiment_ids: list[str] = Field(default=[], max_length=1000)
    filter: Text = ""
    max_results: int = Field(default=100, ge=1, le=1000)
    page_token: PageToken = ""


class NamedModel(_Sent):
    name: str = Field(min_length=1, max_length=256)


class CreateModel(NamedModel):
    tags: list[Tag] = Field(default=[], max_length=50)
    description: str = Field(default="", max_length=100_000)


class DescribeModel(NamedModel):
    description: str = Field(default="", max_length=100_000)


class TagModel(NamedModel, Tag):
    pass


class ModelKey(NamedModel):
    key: Key


class ModelAlias(NamedModel):
    alias: str = Field(min_length=1, max_length=255)


class SetModelAlias(ModelAlias):
    version: str = Field(max_length=20)


class NamedVersion(NamedModel):
    version: str = Field(max_length=20)


class CreateVersion(NamedModel):
    source: str = Field(max_length=2000)
    run_id: str = Field(default="", max_length=100)
    tags: list[Tag] = Field(default=[], max_length=50)
    description: str = Field(default="", max_length=100_000)
    model_id: str = Field(default="", max_length=100)


class DescribeVersion(NamedVersion):
    description: str = Field(default="", max_length=100_000)


class TagVersion(NamedVersion, Tag):
    pass


class VersionKey(NamedVersion):
    key: Key


class TracePair(_Sent):
    key: Key
    value: TraceText = ""


TracePairs = Annotated[list[TracePair], Field(max_length=MAX_TRACE_TEXTS)]
TraceTexts = Annotated[dict[Key, TraceText], Field(max_length=MAX_TRACE_TEXTS)]


class StartTrace(NamedExperiment):
    timestamp_ms: Milliseconds
    request_metadata: TracePairs = []
    tags: TracePairs = []


class EndTrace(_Sent):
    timestamp_ms: Milliseconds
    status: str = Field(max_length=40)
    request_metadata: TracePairs = []
    tags: TracePairs = []


class TraceKey(_Sent):
    key: Key


class SearchTraces(_Sent):
    experiment_ids: list[str] = Field(min_length=1, max_length=1000)
    filter: Text = ""
    max_results: int = Field(default=100, ge=1, le=MAX_TRACES)
    order_by: list[Text] = Field(default=[], max_length=20)
    page_token: PageToken = ""


class DeleteTraces(NamedExperiment):
    max_timestamp_millis: Optional[int] = Field(default=None, ge=0, le=2**62)
    max_traces: Optional[int] = Field(default=None, ge=1, le=2**31)
    request_ids: list[str] = Field(default=[], max_length=MAX_TRACE_IDS)


class TraceLocation(_Sent):
    mlflow_experiment: NamedExperiment


class TraceInfo(_Sent):
    """A whole trace, as clients from 3.0 send it when it has ended."""

    trace_id: str = Field(pattern=r"^tr-[0-9a-f]{32}$")
    trace_location: TraceLocation
    request_time: datetime
    execution_duration: Optional[str] = Field(default=None, pattern=r"^[0-9]{1,12}(\.[0-9]{1,9})?s$")
    state: str = Field(default="STATE_UNSPECIFIED", max_length=40)
    request_preview: Optional[TraceText] = None
    response_preview: Optional[TraceText] = None
    trace_metadata: TraceTexts = {}
    tags: TraceTexts = {}


class WholeTrace(_Sent):
    trace_info: TraceInfo


class LogTrace(_Sent):
    trace: WholeTrace


class GraphQLQuery(_Sent):
    query: str = Field(max_length=10_000)
    variables: Optional[dict[str, Any]] = None
    operation_name: Optional[str] = Field(default=None, alias="operationName", max_length=200)


class PromptPair(_Sent):
    key: Key
    value: Annotated[str, BeforeValidator(str), Field(max_length=MAX_PARAM_CHARS)] = ""


PromptPairs = Annotated[list[PromptPair], Field(max_length=MAX_PARAMS)]
PromptText = Annotated[str, Field(max_length=MAX_PARAM_CHARS)]


class LogPrompt(_Sent):
    """A prompt and what a model answered. What is missing is named one by one, as MLflow does."""

    experiment_id: str = Field(default="", max_length=40)
    run_name: str = Field(default="", max_length=200)
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS)
    prompt_template: PromptText = ""
    prompt_parameters: PromptPairs = []
    model_route: PromptText = ""
    model_parameters: PromptPairs = []
    model_input: Text = ""
    model_output: Optional[str] = None
    model_output_parameters: PromptPairs = []
    mlflow_version: str = Field(default="", max_length=40)
    user_id: str = Field(default="", max_length=MAX_KEY_CHARS)
    start_time: Optional[Milliseconds] = None


class AskGateway(_Sent):
    gateway_path: str = Field(default="", max_length=1000)
