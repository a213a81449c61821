import { Link } from "@tanstack/react-router";
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import type { FlowNode } from "@/api/flow";
import { Icon, type IconName } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { placeOf } from "./links";

export type CardNode = Node<{ node: FlowNode; isRoot: boolean; isNarrow: boolean }, "card">;

const ICONS: Record<FlowNode["kind"], IconName> = {
  run: "experiments",
  artifact: "file",
  job: "jobs",
  store: "store",
  code: "terminal",
  model: "models",
};

/** One thing in the graph: what it is, what it is called, and whether it still is. */
export function Card({ data }: NodeProps<CardNode>) {
  const { node, isRoot, isNarrow } = data;
  const { flow: texts } = useTexts();
  const label = node.is_hidden ? texts.hidden : node.label || node.key || node.id;
  const to = placeOf(node);
  return (
    <div
      className="flow-card"
      data-kind={node.kind}
      data-root={isRoot}
      data-gone={node.deleted_at != null}
      data-hidden={node.is_hidden}
      title={label}
    >
      <Handle type="target" position={isNarrow ? Position.Top : Position.Left} />
      <span className="flow-kind">
        <Icon name={ICONS[node.kind]} />
        {texts.kinds[node.kind]}
        {node.deleted_at != null && <span className="tag">{texts.deleted}</span>}
        {!isRoot && !node.is_hidden && (
          <Link
            to="/flow"
            search={{ node: node.id }}
            className="flow-center nodrag nopan"
            aria-label={texts.center(label)}
            title={texts.center(label)}
          >
            <Icon name="link" />
          </Link>
        )}
      </span>
      {to && node.deleted_at == null ? (
        <Link {...to} className="flow-name nodrag nopan">
          {label}
        </Link>
      ) : (
        <span className="flow-name">{label}</span>
      )}
      <Handle type="source" position={isNarrow ? Position.Bottom : Position.Right} />
    </div>
  );
}
