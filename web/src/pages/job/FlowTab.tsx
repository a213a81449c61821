import { useParams } from "@tanstack/react-router";
import { Flow } from "@/parts/flow/Flow";

/** The lineage of the job: its inputs, and what was made from its results. */
export function FlowTab() {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  return <Flow node={`job:${id}`} />;
}
