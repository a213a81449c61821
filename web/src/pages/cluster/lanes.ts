// Who held what and when, as lanes: one per device, or as many as a node without devices needs.
import type { Holding } from "@/api/nodes";
import { naturally } from "@/parts/order";

/** Places are parts of the whole time, 0 to 1. */
export type Span = { holding: Holding; from: number; to: number };
export type Lane = { label: string; spans: Span[] };
export type NodeLanes = { node: string; lanes: Lane[] };
export type Total = { owner: string; project: string; deviceHours: number; coreHours: number };

const HOUR_MS = 3_600_000;

export function lanesOf(holdings: readonly Holding[], since: number, until: number): NodeLanes[] {
  const nodes = new Map<string, { devices: Map<number, Lane>; others: Lane[] }>();
  for (const holding of [...holdings].sort((a, b) => (a.started_at < b.started_at ? -1 : 1))) {
    const found = nodes.get(holding.node) ?? { devices: new Map<number, Lane>(), others: [] };
    nodes.set(holding.node, found);
    const span = spanOf(holding, since, until);
    for (const device of holding.device_ids) {
      const lane = found.devices.get(device) ?? { label: String(device), spans: [] };
      lane.spans.push(span);
      found.devices.set(device, lane);
    }
    if (!holding.device_ids.length) freeLane(found.others, span).spans.push(span);
  }
  return [...nodes]
    .map(([node, { devices, others }]) => ({
      node,
      lanes: [...[...devices].sort(([a], [b]) => a - b).map(([, lane]) => lane), ...others],
    }))
    .sort((a, b) => naturally(a.node, b.node));
}

/** What each user held in each project, the most first. Users that one does not see are one row. */
export function totalsOf(holdings: readonly Holding[], since: number, until: number): Total[] {
  const found = new Map<string, Total>();
  for (const holding of holdings) {
    const [begin, end] = timesOf(holding, until);
    const hours = (Math.min(end, until) - Math.max(begin, since)) / HOUR_MS;
    const [owner, project] = [holding.owner ?? "", holding.project ?? ""];
    const key = JSON.stringify([owner, project]);
    const before = found.get(key) ?? { owner, project, deviceHours: 0, coreHours: 0 };
    found.set(key, {
      ...before,
      deviceHours: before.deviceHours + hours * holding.device_ids.length,
      coreHours: before.coreHours + hours * holding.cpus,
    });
  }
  return [...found.values()].sort(
    (a, b) => b.deviceHours - a.deviceHours || b.coreHours - a.coreHours,
  );
}

function spanOf(holding: Holding, since: number, until: number): Span {
  const part = (at: number) => Math.max(0, Math.min(1, (at - since) / (until - since)));
  const [begin, end] = timesOf(holding, until);
  return { holding, from: part(begin), to: part(end) };
}

export function timesOf(holding: Holding, until: number): readonly [begin: number, end: number] {
  const end = holding.ended_at ? Date.parse(holding.ended_at) : until;
  return [Date.parse(holding.started_at), end];
}

function freeLane(lanes: Lane[], span: Span): Lane {
  const free = lanes.find((lane) => (lane.spans.at(-1)?.to ?? 0) <= span.from);
  if (free) return free;
  const made: Lane = { label: "", spans: [] };
  lanes.push(made);
  return made;
}
