export const states = {
  queued: "Queued",
  starting: "Starting",
  running: "Running",
  stopping: "Stopping",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  stopped: "Stopped",
  lost: "Lost",
  staging: "Fetching inputs",
  uploading: "Uploading results",
};
