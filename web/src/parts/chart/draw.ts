// Lines on a canvas. uPlot has the axes, the zoom and the cursor; the lines are ours, because each has places of its own
// on the axis and putting fifty of them on one grid would cost more than drawing them.
import type uPlot from "uplot";
import type { ChartLine } from "./lines";

export type Drawn = { line: ChartLine; smoothed: readonly (number | null)[] | undefined };

export function drawLines(plot: uPlot, lines: readonly Drawn[], focused: string | undefined): void {
  const { ctx, bbox } = plot;
  const place = placement(plot);
  if (!place) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = "round";
  const ratio = devicePixelRatio;
  const isOneFocused = focused !== undefined && lines.length > 1;
  for (const { line, smoothed } of lines) {
    const isFocused = line.id === focused;
    const strength = isOneFocused && !isFocused ? 0.28 : 1;
    ctx.strokeStyle = line.color;
    if (line.band) fill(ctx, line, line.band, place, 0.16 * strength);
    ctx.setLineDash(line.isDashed ? [5 * ratio, 4 * ratio] : []);
    if (smoothed) {
      ctx.globalAlpha = 0.22 * strength;
      ctx.lineWidth = ratio;
      stroke(ctx, line.x, line.y, place);
    }
    ctx.globalAlpha = (line.isDashed ? 0.7 : 1) * strength;
    ctx.lineWidth = (isFocused ? 2.4 : 1.6) * ratio;
    stroke(ctx, line.x, smoothed ?? line.y, place);
    ctx.setLineDash([]);
    if (!line.hasGaps) crosses(ctx, line, place, bbox.top + bbox.height - 6 * ratio);
  }
  ctx.restore();
}

type Placement = {
  x: (value: number) => number;
  y: (value: number) => number;
  low: number;
  high: number;
};

function placement(plot: uPlot): Placement | undefined {
  const { bbox, scales } = plot;
  const { min: x0, max: x1 } = scales.x ?? {};
  const { min: y0, max: y1, distr } = scales.y ?? {};
  if (x0 == null || x1 == null || y0 == null || y1 == null) return undefined;
  const perX = bbox.width / (x1 - x0 || 1);
  const bottom = bbox.top + bbox.height;
  const isLog = distr === 3;
  const [from, to] = isLog ? [Math.log10(y0), Math.log10(y1)] : [y0, y1];
  const perY = bbox.height / (to - from || 1);
  return {
    x: (value) => bbox.left + (value - x0) * perX,
    y: isLog
      ? (value) => (value > 0 ? bottom - (Math.log10(value) - from) * perY : NaN)
      : (value) => bottom - (value - from) * perY,
    low: x0,
    high: x1,
  };
}

function stroke(
  ctx: CanvasRenderingContext2D,
  xs: readonly number[],
  ys: readonly (number | null)[],
  place: Placement,
): void {
  ctx.beginPath();
  let isDown = false;
  let alone: [number, number] | undefined;
  for (let at = 0; at < xs.length; at++) {
    const value = ys[at];
    const y = value == null ? NaN : place.y(value);
    if (Number.isNaN(y)) {
      if (alone) dot(ctx, alone);
      alone = undefined;
      isDown = false;
      continue;
    }
    const x = place.x(xs[at] ?? 0);
    if (isDown) {
      ctx.lineTo(x, y);
      alone = undefined;
    } else {
      ctx.moveTo(x, y);
      alone = [x, y];
      isDown = true;
    }
  }
  if (alone) dot(ctx, alone);
  ctx.stroke();
}

/** Between the lowest and the highest of a group. */
function fill(
  ctx: CanvasRenderingContext2D,
  line: ChartLine,
  band: NonNullable<ChartLine["band"]>,
  place: Placement,
  strength: number,
): void {
  const corners: [number, number][] = [];
  for (let at = 0; at < line.x.length; at++) {
    const high = band.high[at];
    if (high != null) corners.push([place.x(line.x[at] ?? 0), place.y(high)]);
  }
  for (let at = line.x.length - 1; at >= 0; at--) {
    const low = band.low[at];
    if (low != null) corners.push([place.x(line.x[at] ?? 0), place.y(low)]);
  }
  ctx.beginPath();
  for (const [x, y] of corners) if (!Number.isNaN(y)) ctx.lineTo(x, y);
  ctx.closePath();
  ctx.globalAlpha = strength;
  ctx.fillStyle = line.color;
  ctx.fill();
}

/** NaN and infinity have no place on the axis: a cross at the bottom says where they are. */
function crosses(
  ctx: CanvasRenderingContext2D,
  line: ChartLine,
  place: Placement,
  bottom: number,
): void {
  const size = 3 * devicePixelRatio;
  let last = -Infinity;
  ctx.beginPath();
  for (let at = 0; at < line.x.length; at++) {
    if (line.y[at] !== null) continue;
    const x = place.x(line.x[at] ?? 0);
    if (x - last < 3 * size) continue; // many of them are one row of crosses
    last = x;
    ctx.moveTo(x - size, bottom - size);
    ctx.lineTo(x + size, bottom + size);
    ctx.moveTo(x - size, bottom + size);
    ctx.lineTo(x + size, bottom - size);
  }
  ctx.stroke();
}

/** A point without neighbours has no line to be seen by. */
function dot(ctx: CanvasRenderingContext2D, [x, y]: [number, number]): void {
  const radius = 2 * devicePixelRatio;
  ctx.moveTo(x + radius, y);
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
}
