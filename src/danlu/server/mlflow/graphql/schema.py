"""What can be queried. Mutations are MLflow's name for searches here: nothing is changed."""

from __future__ import annotations

import functools

from graphql import GraphQLSchema, build_schema

_TEXT = """
directive @component(name: String!) on QUERY | MUTATION

scalar LongString

type Query {
  mlflowGetExperiment(input: MlflowGetExperimentInput!): MlflowGetExperimentResponse
  mlflowGetRun(input: MlflowGetRunInput!): MlflowGetRunResponse
  mlflowGetMetricHistoryBulkInterval(
    input: MlflowGetMetricHistoryBulkIntervalInput!
  ): MlflowGetMetricHistoryBulkIntervalResponse
  mlflowListArtifacts(input: MlflowListArtifactsInput!): MlflowListArtifactsResponse
  mlflowSearchModelVersions(input: MlflowSearchModelVersionsInput!): MlflowSearchModelVersionsResponse
  test(inputString: String!): Test
}

type Mutation {
  mlflowSearchRuns(input: MlflowSearchRunsInput!): MlflowSearchRunsResponse
  mlflowSearchDatasets(input: MlflowSearchDatasetsInput!): MlflowSearchDatasetsResponse
}

input MlflowGetExperimentInput { experimentId: String }
input MlflowGetRunInput { runId: String, runUuid: String }
input MlflowListArtifactsInput { runId: String, runUuid: String, path: String, pageToken: String }
input MlflowSearchDatasetsInput { experimentIds: [String] }
input MlflowGetMetricHistoryBulkIntervalInput {
  runIds: [String], metricKey: String, startStep: Int, endStep: Int, maxResults: Int
}
input MlflowSearchModelVersionsInput {
  filter: String, maxResults: LongString, orderBy: [String], pageToken: String
}
input MlflowSearchRunsInput {
  experimentIds: [String], filter: String, runViewType: MlflowViewType, maxResults: Int, orderBy: [String],
  pageToken: String
}
enum MlflowViewType { ACTIVE_ONLY DELETED_ONLY ALL }

type Test { output: String }
type ApiError { code: String, message: String, helpUrl: String }

type MlflowGetExperimentResponse { experiment: MlflowExperiment, apiError: ApiError }
type MlflowGetRunResponse { run: MlflowRunExtension, apiError: ApiError }
type MlflowGetMetricHistoryBulkIntervalResponse { metrics: [MlflowMetricWithRunId!], apiError: ApiError }
type MlflowListArtifactsResponse {
  rootUri: String, files: [MlflowFileInfo!], nextPageToken: String, apiError: ApiError
}
type MlflowSearchModelVersionsResponse {
  modelVersions: [MlflowModelVersion!], nextPageToken: String, apiError: ApiError
}
type MlflowSearchRunsResponse { runs: [MlflowRunExtension!], nextPageToken: String, apiError: ApiError }
type MlflowSearchDatasetsResponse { datasetSummaries: [MlflowDatasetSummary!], apiError: ApiError }

type MlflowExperiment {
  experimentId: String, name: String, artifactLocation: String, lifecycleStage: String,
  lastUpdateTime: LongString, creationTime: LongString, tags: [MlflowExperimentTag!]
}
type MlflowExperimentTag { key: String, value: String }
type MlflowRunExtension {
  info: MlflowRunInfo, data: MlflowRunData, inputs: MlflowRunInputs, outputs: MlflowRunOutputs,
  experiment: MlflowExperiment, modelVersions: [MlflowModelVersion!]
}
type MlflowRunInfo {
  runId: String, runUuid: String, runName: String, experimentId: String, userId: String, status: MlflowRunStatus,
  startTime: LongString, endTime: LongString, artifactUri: String, lifecycleStage: String
}
enum MlflowRunStatus { RUNNING SCHEDULED FINISHED FAILED KILLED }
type MlflowRunData { metrics: [MlflowMetric!], params: [MlflowParam!], tags: [MlflowRunTag!] }
type MlflowMetric { key: String, value: Float, timestamp: LongString, step: LongString }
type MlflowMetricWithRunId { key: String, value: Float, timestamp: LongString, step: LongString, runId: String }
type MlflowParam { key: String, value: String }
type MlflowRunTag { key: String, value: String }
type MlflowRunInputs { datasetInputs: [MlflowDatasetInput!], modelInputs: [MlflowModelInput!] }
type MlflowRunOutputs { modelOutputs: [MlflowModelOutput!] }
type MlflowDatasetInput { tags: [MlflowInputTag!], dataset: MlflowDataset }
type MlflowInputTag { key: String, value: String }
type MlflowDataset {
  name: String, digest: String, sourceType: String, source: String, schema: String, profile: String
}
type MlflowModelInput { modelId: String }
type MlflowModelOutput { modelId: String, step: LongString }
type MlflowDatasetSummary { experimentId: String, name: String, digest: String, context: String }
type MlflowFileInfo { path: String, isDir: Boolean, fileSize: LongString }
type MlflowModelVersion {
  name: String, version: String, creationTimestamp: LongString, lastUpdatedTimestamp: LongString, userId: String,
  currentStage: String, description: String, source: String, runId: String, status: MlflowModelVersionStatus,
  statusMessage: String, tags: [MlflowModelVersionTag!], runLink: String, aliases: [String]
}
type MlflowModelVersionTag { key: String, value: String }
enum MlflowModelVersionStatus { PENDING_REGISTRATION FAILED_REGISTRATION READY }
"""


@functools.cache
def schema() -> GraphQLSchema:
    return build_schema(_TEXT)
