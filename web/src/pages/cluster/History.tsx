import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { nodesQuery, type Holding } from "@/api/nodes";
import { highestOf, showNumber } from "@/parts/numbers";
import { exact } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import { historyOf, type Part } from "./history";
import styles from "./timeline.module.css";

const PARTS = 48;

/** How many devices, or cores where there are none, were held over time; owners in their colours. */
export function History(props: {
  items: readonly Holding[];
  since: number;
  until: number;
  /** Owners from the one that held most, who is at the bottom. */
  colors: ReadonlyMap<string, string>;
}) {
  const { items, since, until, colors } = props;
  const { cluster: texts } = useTexts();
  const { data: nodes = [] } = useQuery(nodesQuery);
  const numDevices = nodes.reduce((sum, node) => sum + node.devices.length, 0);
  const quantity = numDevices ? "devices" : "cores";
  const all = numDevices || nodes.reduce((sum, node) => sum + node.cpus, 0);
  const parts = useMemo(
    () => historyOf(items, { since, until, parts: PARTS }, quantity),
    [items, since, until, quantity],
  );
  const peak = highestOf(parts.map((part) => part.sum));
  const mean = parts.reduce((sum, part) => sum + part.sum, 0) / PARTS;
  const height = Math.max(all, peak);
  const title = quantity === "devices" ? texts.devicesHeld : texts.coresHeld;
  const told = texts.heldOf(showNumber(rounded(mean)), showNumber(rounded(peak)), showNumber(all));
  return (
    <figure className={styles.history}>
      <figcaption>
        {title} <span className="muted">{told}</span>
      </figcaption>
      <div className={styles.columns} role="img" aria-label={`${title}: ${told}`}>
        {parts.map((part) => (
          <Column key={part.from} part={part} height={height} colors={colors} />
        ))}
      </div>
    </figure>
  );
}

function Column(props: { part: Part; height: number; colors: ReadonlyMap<string, string> }) {
  const { part, height, colors } = props;
  const { cluster: texts } = useTexts();
  const locale = useLocale();
  const named = [...colors.keys()].filter((owner) => part.held.has(owner));
  const shares = named
    .map((owner) => `${owner || texts.otherProjects} ${amountOf(part, owner)}`)
    .join(", ");
  return (
    <span title={`${exact(new Date(part.from), locale)}: ${shares || "0"}`}>
      {named.map((owner) => (
        <i
          key={owner}
          style={{
            height: `${String(((part.held.get(owner) ?? 0) / height) * 100)}%`,
            background: colors.get(owner),
          }}
        />
      ))}
    </span>
  );
}

function amountOf(part: Part, owner: string): string {
  return showNumber(rounded(part.held.get(owner) ?? 0));
}

function rounded(amount: number): number {
  return Number(amount.toPrecision(3));
}
