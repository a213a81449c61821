import { expect, it } from "vitest";
import type { FlowNode } from "@/api/flow";
import { NODE_WIDTH, place } from "./layout";

const node = (id: string): FlowNode => ({
  id,
  kind: "run",
  distance: 0,
  label: id,
  is_hidden: false,
});
const NODES = ["data", "job", "out", "model"].map(node);
const EDGES = [
  { source: "data", target: "job", relation: "data" as const },
  { source: "job", target: "out", relation: "output" as const },
  { source: "out", target: "model", relation: "registered" as const },
];

it("puts what comes first to the left, with room between", () => {
  const xs = place(NODES, EDGES, false).map((one) => one.x);
  for (const [index, x] of xs.entries())
    if (index > 0) expect(x).toBeGreaterThan((xs[index - 1] ?? 0) + NODE_WIDTH);
});

it("goes from top to bottom where there is little room", () => {
  const ys = place(NODES, EDGES, true).map((one) => one.y);
  expect([...ys].sort((a, b) => a - b)).toEqual(ys);
});

it("passes over edges to what is not there, and circles", () => {
  const edges = [
    ...EDGES,
    { source: "model", target: "elsewhere", relation: "data" as const },
    { source: "model", target: "data", relation: "data" as const },
  ];
  expect(place(NODES, edges, false)).toHaveLength(4);
});
