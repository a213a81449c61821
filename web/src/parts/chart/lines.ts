// Lines as data: pure, so that they can be tested without a canvas.

export type ChartLine = {
  id: string;
  label: string;
  color: string;
  /** Rising. */
  x: readonly number[];
  /** Null where a value is not finite: the line has a gap there. */
  y: readonly (number | null)[];
  /** Null is where nothing was measured. */
  hasGaps?: boolean;
  /** What a newer attempt superseded, or another kind of the same: dashed. */
  isDashed?: boolean;
  /** Of a group: the lowest and the highest of its lines at each place. */
  band?: { low: readonly (number | null)[]; high: readonly (number | null)[] };
};

export type Range = readonly [low: number, high: number];

/** Exponential smoothing that does not lag at the start; 0 leaves the values as they are. Gaps stay gaps. */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...values];
  let last = 0;
  let scale = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    last = last * weight + (1 - weight) * value;
    scale = scale * weight + (1 - weight);
    return last / scale;
  });
}

/** From the lowest to the highest place on the axis; undefined when there is no point at all. */
export function rangeOfX(lines: readonly ChartLine[]): Range | undefined {
  let low = Infinity;
  let high = -Infinity;
  for (const { x } of lines) {
    if (!x.length) continue;
    low = Math.min(low, x[0] ?? low);
    high = Math.max(high, x.at(-1) ?? high);
  }
  if (low > high) return undefined;
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** What the values between two places span, with a little room; on a log scale only what is above zero. Without
 * outliers: what lies far from the middle half of the values does not count. */
export function rangeOfY(
  lines: readonly ChartLine[],
  [from, to]: Range,
  isLog: boolean,
  withoutOutliers = false,
): Range {
  const values: number[] = [];
  for (const { x, y, band } of lines) {
    for (let at = Math.max(0, placeOf(x, from) - 1); at < x.length; at++) {
      for (const value of band ? [band.low[at], band.high[at]] : [y[at]])
        if (value !== null && value !== undefined && (!isLog || value > 0)) values.push(value);
      if ((x[at] ?? 0) > to) break;
    }
  }
  let low = Infinity;
  let high = -Infinity;
  const [least, most] = withoutOutliers ? fences(values) : [-Infinity, Infinity];
  for (const value of values) {
    if (value < least || value > most) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return isLog ? [0.1, 1] : [0, 1];
  if (isLog) return low === high ? [low / 2, high * 2] : [low / 1.08, high * 1.08];
  const room = low === high ? Math.abs(low) * 0.1 || 0.5 : (high - low) * 0.05;
  return [low - room, high + room];
}

/** Three times the middle half of the values beyond it, on both sides. */
function fences(values: readonly number[]): Range {
  if (values.length < 8) return [-Infinity, Infinity];
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  const [low, high] = [at(0.25), at(0.75)];
  const reach = 3 * (high - low) || Math.abs(high) || 1;
  return [low - reach, high + reach];
}

/** The first place in a rising list that is not below a value. */
export function placeOf(x: readonly number[], value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The point of a line that is nearest to a place on the axis, and has a value. */
export function nearest(line: ChartLine, value: number): number | undefined {
  const after = placeOf(line.x, value);
  const has = (at: number) => at >= 0 && at < line.x.length && line.y[at] !== null;
  for (let reach = 0; reach < 50; reach++) {
    const [left, right] = [after - 1 - reach, after + reach];
    const [hasLeft, hasRight] = [has(left), has(right)];
    if (hasLeft && hasRight)
      return value - (line.x[left] ?? 0) <= (line.x[right] ?? 0) - value ? left : right;
    if (hasLeft) return left;
    if (hasRight) return right;
  }
  return undefined;
}
