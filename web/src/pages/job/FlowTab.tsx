import { useParams } from "@tanstack/react-router";
import { Flow } from "@/parts/flow/Flow";

/** What the job was made from, and what became of its results. */
export function FlowTab() {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  return <Flow node={`job:${id}`} />;
}
