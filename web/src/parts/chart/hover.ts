import type uPlot from "uplot";
import type { Drawn } from "./draw";
import { nearest } from "./lines";

export type HoverPoint = {
  id: string;
  label: string;
  color: string;
  x: number;
  y: number;
  distance: number;
  /** What the baseline has at this place. */
  base?: number;
  /** Of a group: its lowest and highest at this place. */
  spread?: readonly [low: number, high: number];
};
export type Hover = {
  left: number;
  top: number;
  width: number;
  x: number;
  points: HoverPoint[];
  more: number;
};

const MOST = 8;

/** The points nearest to the pointer, the nearest line first. */
export function pointsAt(
  u: uPlot,
  drawn: readonly Drawn[],
  at: { left: number; top: number; baseline: string | undefined },
): Hover | undefined {
  const { left, top } = at;
  const place = u.posToVal(left, "x");
  const points: HoverPoint[] = [];
  for (const { line, smoothed } of drawn) {
    const index = nearest(line, place);
    if (index === undefined) continue;
    const x = line.x[index] ?? 0;
    const y = (smoothed ?? line.y)[index];
    if (y == null) continue;
    const away = Math.abs(u.valToPos(x, "x") - left);
    if (away > u.over.clientWidth / 4) continue; // the line has no point near here
    const distance = Math.abs(u.valToPos(y, "y") - top) + away / 4;
    const [low, high] = [line.band?.low[index], line.band?.high[index]];
    const spread = low != null && high != null ? ([low, high] as const) : undefined;
    points.push({ id: line.id, label: line.label, color: line.color, x, y, distance, spread });
  }
  if (!points.length) return undefined;
  const base = points.find((point) => point.id === at.baseline)?.y;
  for (const point of points) if (point.id !== at.baseline) point.base = base;
  points.sort((a, b) => a.distance - b.distance);
  const box = u.over.getBoundingClientRect();
  const outer = u.root.getBoundingClientRect();
  return {
    left: left + box.left - outer.left,
    top: top + box.top - outer.top,
    width: outer.width,
    x: points[0]?.x ?? place,
    points: points.slice(0, MOST),
    more: Math.max(0, points.length - MOST),
  };
}
