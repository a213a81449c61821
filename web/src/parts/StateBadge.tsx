import type { Schemas } from "@/api/client";
import { useTexts } from "@/texts/language";

type State = Schemas["JobState"] | Schemas["TaskState"] | Schemas["AttemptState"];

const LOOKS: Record<State, string> = {
  queued: "wait",
  starting: "run moving",
  staging: "run moving",
  running: "run moving",
  uploading: "run moving",
  stopping: "wait moving",
  paused: "held",
  succeeded: "ok",
  failed: "bad",
  lost: "bad",
  stopped: "",
};

/** The state of a job, an attempt or a task. The word says it; the colour only helps. */
export function StateBadge(props: { state: State }) {
  const { states } = useTexts();
  return <span className={`badge ${LOOKS[props.state]}`}>{states[props.state]}</span>;
}
