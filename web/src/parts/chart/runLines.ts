// From the points of runs to the lines of a chart. Pure.
import type { Axis, SeriesPoints } from "@/api/runs";
import { naturally } from "@/parts/order";
import type { Texts } from "@/texts/language";
import { bandOf } from "./bands";
import { colorOf } from "./colors";
import { wireName } from "./groups";
import type { ChartLine } from "./lines";
import type { ChartedRun } from "./MetricCharts";

/** Lines of one run differ by type; lines of several by run. */
export function linesOf(
  points: readonly SeriesPoints[],
  runs: readonly ChartedRun[],
  axis: Axis,
  isDark: boolean,
  { chart }: Texts,
): ChartLine[] {
  const isOne = runs.length === 1;
  const lines: ChartLine[] = [];
  for (const [index, series] of points.entries()) {
    const place = runs.findIndex((run) => run.id === series.run);
    const run = runs[place];
    if (!run) continue;
    const color = isOne ? colorOf(index, isDark) : (run.color ?? colorOf(place, isDark));
    const label = isOne ? series.type || series.name : run.name;
    const origin = new Date(run.started_at).getTime() / 1000;
    const id = `${series.run} ${wireName(series)}`;
    for (const hidden of series.hidden ?? [])
      lines.push({
        id: `${id} ${String(hidden.branch)}`,
        label: `${label} (${chart.superseded(hidden.branch)})`,
        color,
        x: placesOf(hidden, axis, origin),
        y: hidden.value,
        isDashed: true,
      });
    lines.push({ id, label, color, x: placesOf(series, axis, origin), y: series.value });
  }
  return lines;
}

/** One line and its band for each group of runs. */
export function groupedLines(
  lines: readonly ChartLine[],
  runs: readonly ChartedRun[],
  isDark: boolean,
): ChartLine[] {
  const groupOf = new Map(runs.map((run) => [run.id, run.together ?? ""]));
  const found = new Map<string, ChartLine[]>();
  for (const line of lines) {
    if (line.isDashed) continue;
    const name = groupOf.get(line.id.slice(0, line.id.indexOf(" "))) ?? "";
    found.set(name, [...(found.get(name) ?? []), line]);
  }
  const names = [...found.keys()].sort(byValue);
  return names.map((name, index) => {
    const members = found.get(name) ?? [];
    const label = `${name} (${String(members.length)})`;
    return bandOf(members, { id: name, label, color: colorOf(index, isDark) });
  });
}

/** `lr=0.01` before `lr=0.1`: numbers by size, other values by name. */
function byValue(a: string, b: string): number {
  const [first, second] = [a, b].map((name) => Number(name.slice(name.indexOf("=") + 1)));
  const bySize = (first ?? NaN) - (second ?? NaN);
  return Number.isNaN(bySize) ? naturally(a, b) : bySize;
}

type Columns = Pick<SeriesPoints, "step" | "epoch" | "time"> & Pick<Partial<SeriesPoints>, "x">;

function placesOf(columns: Columns, axis: Axis, origin: number): number[] {
  if (axis === "own") return columns.x ?? columns.step;
  if (axis === "step") return columns.step;
  if (axis === "epoch") return columns.epoch.map((value) => value ?? 0);
  return columns.time.map((value) => value - origin);
}

/** The line of a run, of which a chart of several runs has one. */
export function isLineOf(line: ChartLine, run: string): boolean {
  return !line.isDashed && line.id.startsWith(`${run} `);
}

/** What the script named for the lines, each once; the steps for those for which it named nothing. */
export function ownAxis(
  points: readonly Pick<SeriesPoints, "axis">[] | undefined,
  steps: string,
): string {
  // the API writes `type/name`, and `/name` for a metric without a type
  const names = points?.map(({ axis }) => axis?.replace(/^\//, "") ?? steps);
  return [...new Set(names)].join(", ") || steps;
}
