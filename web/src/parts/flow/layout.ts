// Where things of the data flow are drawn: in layers, data from left to right.
import { graphlib, layout } from "@dagrejs/dagre";
import type { FlowEdge, FlowNode } from "@/api/flow";

export const NODE_WIDTH = 210;
export const NODE_HEIGHT = 62;

export type Placed = { node: FlowNode; x: number; y: number };

/** Left to right, or top to bottom where there is little room. The same graph is always laid out the same way. */
export function place(
  nodes: readonly FlowNode[],
  edges: readonly FlowEdge[],
  isNarrow: boolean,
): Placed[] {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: isNarrow ? "TB" : "LR", nodesep: 22, ranksep: isNarrow ? 46 : 88 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(nodes.map((node) => node.id));
  for (const node of nodes) graph.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const edge of edges)
    if (known.has(edge.source) && known.has(edge.target) && edge.source !== edge.target)
      graph.setEdge(edge.source, edge.target);
  layout(graph);
  return nodes.map((node) => {
    const at = graph.node(node.id) as { x: number; y: number };
    return { node, x: at.x - NODE_WIDTH / 2, y: at.y - NODE_HEIGHT / 2 };
  });
}
