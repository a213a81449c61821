// Several lines as one: their mean, and the lowest and highest of them at each place. Pure.
import { placeOf, rangeOfX, type ChartLine } from "./lines";

const PLACES = 300;

export type Band = { low: (number | null)[]; high: (number | null)[] };

/** The mean of lines that belong together. Each has places of its own, so that values between them are interpolated. */
export function bandOf(
  lines: readonly ChartLine[],
  shown: Pick<ChartLine, "id" | "label" | "color">,
): ChartLine {
  const range = rangeOfX(lines);
  const [only] = lines;
  if (!range || !only) return { ...shown, x: [], y: [] };
  if (lines.length === 1) return { ...only, ...shown };
  const x = gridOf(lines, range);
  const y: (number | null)[] = [];
  const band: Band = { low: [], high: [] };
  for (const place of x) {
    let [sum, count, low, high] = [0, 0, Infinity, -Infinity];
    for (const line of lines) {
      const value = valueAt(line, place);
      if (value === undefined) continue;
      sum += value;
      count++;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    y.push(count ? sum / count : null);
    band.low.push(count ? low : null);
    band.high.push(count ? high : null);
  }
  return { ...shown, x, y, band };
}

/** The places that all lines share, or evenly many between their ends. */
function gridOf(lines: readonly ChartLine[], [low, high]: readonly [number, number]): number[] {
  const all = [...new Set(lines.flatMap((line) => [...line.x]))].sort((a, b) => a - b);
  if (all.length <= PLACES) return all;
  return Array.from({ length: PLACES }, (_, at) => low + ((high - low) * at) / (PLACES - 1));
}

/** Undefined beyond the ends of a line and in its gaps. */
function valueAt({ x, y }: ChartLine, place: number): number | undefined {
  const after = placeOf(x, place);
  if (x[after] === place) return y[after] ?? undefined;
  const [left, right] = [x[after - 1], x[after]];
  const [before, next] = [y[after - 1], y[after]];
  if (left === undefined || right === undefined || before == null || next == null) return undefined;
  return before + ((next - before) * (place - left)) / (right - left);
}
