import type { Schemas } from "@/api/client";

/** What happened to a job. One that is missing does not compile. */
export const happened: Record<Schemas["JobEventKind"], string> = {
  submitted: "Submitted",
  queued: "Queued",
  making_room: "Making room",
  starting: "Starting",
  running: "Running",
  unreachable: "Node offline",
  preempted: "Preempted",
  stop: "Stop requested",
  pause: "Pause requested",
  resume: "Resume requested",
  stopping: "Stopping",
  succeeded: "Succeeded",
  failed: "Failed",
  stopped: "Stopped",
  lost: "Lost",
  retry: "Retrying",
  output_incomplete: "Output incomplete",
  logs_removed: "Logs removed",
};
