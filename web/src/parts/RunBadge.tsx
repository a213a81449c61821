import type { RunState } from "@/api/runs";
import { useTexts } from "@/texts/language";

const LOOKS: Record<RunState, string> = {
  running: "run moving",
  finished: "ok",
  failed: "bad",
  stopped: "",
  died: "bad",
};

/** The state of a run. The word says it; the colour only helps. */
export function RunBadge(props: { state: RunState }) {
  const { runs } = useTexts();
  return <span className={`badge ${LOOKS[props.state]}`}>{runs.states[props.state]}</span>;
}
