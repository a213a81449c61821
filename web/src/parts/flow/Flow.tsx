import { lazy, Suspense } from "react";
import { Loading } from "@/parts/Empty";
import type { FlowGraphProps } from "./FlowGraph";

const Graph = lazy(async () => ({ default: (await import("./FlowGraph")).FlowGraph }));

/** The data flow around something. What draws it is large, and is loaded when it is first shown. */
export function Flow(props: FlowGraphProps) {
  return (
    <Suspense fallback={<Loading lines={6} />}>
      <Graph {...props} />
    </Suspense>
  );
}
