import { useInfiniteQuery } from "@tanstack/react-query";
import {
  Background,
  Controls,
  MarkerType,
  ReactFlow,
  type AriaLabelConfig,
  type Edge,
  type NodeTypes,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo } from "react";
import { flowQuery, type Direction } from "@/api/flow";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { More } from "@/parts/Found";
import { useIsDark } from "@/parts/theme";
import { useTexts, type Texts } from "@/texts/language";
import { Card, type CardNode } from "./Card";
import "./flow.css";
import { place } from "./layout";

const TYPES: NodeTypes = { card: Card };
const NARROW_PX = 700;
/** Text of 13 px is 11 px then; what does not fit is reached by dragging. */
const READABLE_ZOOM = 0.85;
const FIT_ALL = 8;

export type FlowGraphProps = {
  /** `kind:key` or an id: a run, a job, a version of an artifact or a model, or a path in the store. */
  node: string;
  direction?: Direction;
  depth?: number;
  height?: string;
};

/** The lineage of something as a graph to walk through. */
export function FlowGraph(props: FlowGraphProps) {
  const { node, direction = "both", depth = 5 } = props;
  const { flow: texts } = useTexts();
  const isDark = useIsDark();
  const found = useInfiniteQuery(flowQuery(node, direction, depth));
  const pages = found.data?.pages;
  const isNarrow = window.innerWidth < NARROW_PX;
  const { nodes, edges } = useMemo(() => {
    const flowNodes = (pages ?? []).flatMap((page) => page.nodes);
    const flowEdges = (pages ?? []).flatMap((page) => page.edges);
    const root = pages?.[0]?.node;
    return {
      nodes: place(flowNodes, flowEdges, isNarrow).map((placed): CardNode => ({
        id: placed.node.id,
        type: "card",
        position: { x: placed.x, y: placed.y },
        data: { node: placed.node, isRoot: placed.node.id === root, isNarrow },
      })),
      edges: flowEdges.map((edge): Edge => ({
        id: `${edge.source} ${edge.target} ${edge.relation}`,
        source: edge.source,
        target: edge.target,
        label: texts.relations[edge.relation],
        ariaLabel: `${edge.source} → ${edge.target}`, // else it is told in English
        markerEnd: { type: MarkerType.ArrowClosed },
      })),
    };
  }, [pages, isNarrow, texts]);
  const fitted = useMemo(() => nearRoot(nodes, edges), [nodes, edges]);
  const labels = useMemo(() => labelsOf(texts), [texts]);
  if (found.error && !pages)
    return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!pages) return <Loading lines={6} />;
  if (nodes.length < 2)
    return (
      <div className="panel">
        <Empty icon="link" title={texts.alone}>
          <p>{texts.aloneText}</p>
        </Empty>
      </div>
    );
  return (
    <>
      <div
        className="panel flow"
        style={{ height: props.height ?? "min(70vh, 40rem)" }}
        role="group"
        aria-label={texts.graph}
      >
        <ReactFlow
          key={`${node} ${direction} ${String(depth)} ${String(nodes.length)}`}
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          colorMode={isDark ? "dark" : "light"}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: READABLE_ZOOM, padding: 0.08, nodes: fitted }}
          minZoom={0.3}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          ariaLabelConfig={labels}
          proOptions={{ hideAttribution: true }}
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      <div className="toolbar">
        <span className="muted small">{texts.shown(nodes.length)}</span>
        <More of={found} isSmall />
      </div>
    </>
  );
}

/** What React Flow would say in English. Nothing in the graph is selected or moved by keys. */
function labelsOf(texts: Texts["flow"]): Partial<AriaLabelConfig> {
  return {
    "node.a11yDescription.default": texts.graph,
    "node.a11yDescription.keyboardDisabled": texts.graph,
    "edge.a11yDescription.default": texts.graph,
    "controls.ariaLabel": texts.controls,
    "controls.zoomIn.ariaLabel": texts.zoomIn,
    "controls.zoomOut.ariaLabel": texts.zoomOut,
    "controls.fitView.ariaLabel": texts.fit,
  };
}

/** What is shown first of a graph that is too large to be read as a whole: the thing itself and its neighbours. */
function nearRoot(
  nodes: readonly CardNode[],
  edges: readonly Edge[],
): { id: string }[] | undefined {
  if (nodes.length <= FIT_ALL) return undefined;
  const root = nodes.find((one) => one.data.isRoot)?.id;
  if (root === undefined) return undefined;
  const near = edges.flatMap(({ source, target }) =>
    source === root ? [target] : target === root ? [source] : [],
  );
  return [root, ...near].map((id) => ({ id }));
}
