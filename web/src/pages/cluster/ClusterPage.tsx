import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useJobChanges } from "@/api/jobs";
import { nodesQuery, type Node } from "@/api/nodes";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { Icon } from "@/parts/Icon";
import { Live } from "@/parts/Live";
import { showBytes, showNumber } from "@/parts/numbers";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { Meter } from "../overview/Meter";
import { DrainAction, DrainNotice } from "./Drain";
import { Queue, Running } from "./Queue";
import { Timeline } from "./Timeline";
import styles from "./cluster.module.css";

export function ClusterPage() {
  const { cluster: texts } = useTexts();
  const stream = useJobChanges();
  const { data: nodes, error, refetch } = useQuery(nodesQuery);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <Live state={stream} />
        {nodes && <span className="muted number">{texts.nodes(nodes.length)}</span>}
      </div>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !nodes ? (
        <Loading />
      ) : nodes.length ? (
        <div className={styles.nodes}>
          {nodes.map((node) => (
            <NodeCard key={node.name} node={node} />
          ))}
        </div>
      ) : (
        <div className="panel">
          <Empty icon="cluster" title={texts.noNodes}>
            <p>{texts.noNodesText}</p>
          </Empty>
        </div>
      )}
      <Queue />
      <Running />
      <Timeline />
    </div>
  );
}

function NodeCard(props: { node: Node }) {
  const { node } = props;
  const { cluster: texts, messages } = useTexts();
  return (
    <section className="panel" aria-label={node.name}>
      <div className="panel-head">
        <h2 className="wrap">{node.name}</h2>
        <span className="tag">{node.engine}</span>
        <span className={node.is_reachable ? "badge ok" : "badge bad"}>
          {node.is_reachable ? texts.reachable : texts.unreachable}
        </span>
        {node.drain && (
          <span className="badge wait">{node.num_tasks ? texts.draining : texts.drained}</span>
        )}
        <span className="actions">
          <DrainAction node={node} />
        </span>
      </div>
      <div className={`panel-body ${styles.node ?? ""}`}>
        <DrainNotice node={node} />
        <Meter
          name={texts.cores}
          told={`${String(node.cpus_reserved)} / ${String(node.cpus)}`}
          part={node.cpus ? node.cpus_reserved / node.cpus : 0}
        />
        <Meter
          name={texts.memory}
          told={`${showBytes(node.memory_reserved_bytes)} / ${showBytes(node.memory_bytes)}`}
          part={node.memory_bytes ? node.memory_reserved_bytes / node.memory_bytes : 0}
        />
        <Devices node={node} />
        <ul className={styles.facts}>
          <li>
            <Icon name="jobs" />
            {texts.tasks(node.num_tasks ?? 0)}
          </li>
          {node.cpus_used != null && (
            <li>
              <Icon name="chart" />
              {texts.inUse(showNumber(node.cpus_used), showBytes(node.memory_used_bytes ?? 0))}
            </li>
          )}
          {node.has_sandbox && (
            <li>
              <Icon name="check" />
              {texts.sandbox}
            </li>
          )}
          {node.has_own_network && (
            <li>
              <Icon name="check" />
              {texts.ownNetwork}
            </li>
          )}
          <Images node={node} />
          {(node.missing ?? []).length > 0 && (
            <li>
              <Icon name="warning" />
              {texts.missing}
              {messages.of}
              {node.missing
                ?.map((one, at) => told(messages, node.missing_said?.[at], one))
                .join(" ")}
            </li>
          )}
          <li>
            <Icon name="clock" />
            <span>
              {texts.seen} <Ago at={node.seen_at} />
            </span>
          </li>
        </ul>
      </div>
    </section>
  );
}

/** Whether jobs with an image can run there; on pointing, why not. */
export function Images(props: {
  node: Pick<Node, "image_tool" | "image_problem" | "image_problem_said">;
}) {
  const { image_tool: tool, image_problem: problem, image_problem_said: said } = props.node;
  const { cluster: texts, messages } = useTexts();
  return (
    <li title={problem && told(messages, said, problem)}>
      <Icon name={tool ? "check" : "info"} />
      {tool ? texts.images(tool) : texts.noImages}
    </li>
  );
}

/** Each device a square: who has it is told on pointing, and a click leads there. */
function Devices(props: { node: Node }) {
  const { cluster: texts } = useTexts();
  const devices = props.node.devices ?? [];
  if (!devices.length) return <p className="faint small">{texts.noDevices}</p>;
  const kinds = new Map<string, typeof devices>();
  for (const device of devices) {
    const kind = [device.type, device.model].filter(Boolean).join(":");
    kinds.set(kind, [...(kinds.get(kind) ?? []), device]);
  }
  return [...kinds].map(([kind, members]) => (
    <div key={kind}>
      <p className={styles.kind}>
        <span>
          {kind}
          {members[0]?.is_simulated && <span className="faint"> ({texts.simulated})</span>}
        </span>
        <span className="muted number">
          {members.filter((device) => device.job).length} / {members.length}
        </span>
      </p>
      <ul className={styles.devices}>
        {members.map((device) => {
          const told = `${kind} ${String(device.id)}, ${device.job ? texts.usedBy(device.job) : texts.free}`;
          return (
            <li key={device.id}>
              {device.job ? (
                <Link to="/jobs/$id" params={{ id: device.job }} title={told} aria-label={told}>
                  {device.id}
                </Link>
              ) : (
                <span title={told}>{device.id}</span>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  ));
}
