// From what was measured to lines of charts. Units are the same everywhere: cores, GiB, MB/s, percent.
import type { Schemas } from "@/api/client";
import { colorOf } from "@/parts/chart/colors";
import type { ChartLine } from "@/parts/chart/lines";
import { highestOf, lowestOf } from "@/parts/numbers";

export type Resources = Schemas["UsageOut"];
type Task = Resources["tasks"][number];

export const QUANTITIES = [
  "cpu",
  "memory",
  "device",
  "device_memory",
  "read",
  "written",
  "received",
  "sent",
] as const;
export type Quantity = (typeof QUANTITIES)[number];
export type Unit = "cores" | "GiB" | "MB/s" | "%";

export const SCALES: Record<Quantity, readonly [unit: Unit, size: number]> = {
  cpu: ["cores", 1],
  memory: ["GiB", 2 ** 30],
  device: ["%", 0.01],
  device_memory: ["GiB", 2 ** 30],
  read: ["MB/s", 1e6],
  written: ["MB/s", 1e6],
  received: ["MB/s", 1e6],
  sent: ["MB/s", 1e6],
};

/** How far the axis reaches at least, so that next to nothing looks like it. */
export const AT_LEAST: Record<Unit, number> = { cores: 0.1, GiB: 0.01, "MB/s": 0.01, "%": 100 };

const LEAST_FLOW = 0.001;

/** What flows by the kilobyte is said, and not drawn. */
export function isIdle({ unit, highest }: Drawn): boolean {
  return unit === "MB/s" && highest < LEAST_FLOW;
}

/** Beyond so many tasks their lines cannot be told apart: their mean and their extremes are drawn. */
export const MOST_LINES = 8;

export type Words = {
  task: (rank: number) => string;
  mean: string;
  highest: string;
  lowest: string;
  reserved: string;
};

export type Drawn = {
  quantity: Quantity;
  unit: Unit;
  lines: ChartLine[];
  /** Of all tasks together, in the unit. */
  average: number;
  highest: number;
};

/** A chart for each quantity that was measured. */
export function chartsOf(found: Resources, words: Words, isDark: boolean): Drawn[] {
  const first = (found.at[0] ?? 0) - stepOf(found);
  // all charts begin at the same place, whatever was measured first
  const x = [0, ...found.at.map((at) => at - first)];
  return QUANTITIES.flatMap((quantity): Drawn[] => {
    const tasks = found.tasks.filter((task) => task.lines[quantity]);
    if (!tasks.length) return [];
    const [unit, size] = SCALES[quantity];
    const lines =
      tasks.length > MOST_LINES
        ? extremesOf(tasks, quantity, x, words, isDark)
        : tasks.map((task): ChartLine => ({
            id: String(task.rank),
            label: words.task(task.rank),
            color: colorOf(task.rank % MOST_LINES, isDark),
            x,
            y: valuesOf(task, quantity),
            hasGaps: true,
          }));
    const scaled = lines.map((line) => ({
      ...line,
      y: line.y.map((value) => (value === null ? null : value / size)),
    }));
    const limit = reservedOf(tasks, quantity);
    if (limit > 0)
      scaled.push({
        id: "reserved",
        label: words.reserved,
        color: isDark ? "#9aa3b2" : "#6b7280",
        x: [0, x.at(-1) ?? 1],
        y: [limit / size, limit / size],
        isDashed: true,
      });
    const of = (key: "average" | "highest") =>
      tasks.map((task) => task.lines[quantity]?.[key] ?? 0);
    return [
      {
        quantity,
        unit,
        lines: scaled,
        average: of("average").reduce((sum, value) => sum + value, 0) / tasks.length / size,
        highest: highestOf(of("highest")) / size,
      },
    ];
  });
}

function valuesOf(task: Task, quantity: Quantity): (number | null)[] {
  return [null, ...(task.lines[quantity]?.mean ?? [])];
}

function stepOf(found: Resources): number {
  const [first, second] = found.at;
  return first !== undefined && second !== undefined ? second - first : found.every_seconds;
}

/** What each task may use; 0 where there is no such number, or tasks differ. */
function reservedOf(tasks: readonly Task[], quantity: Quantity): number {
  const limits = tasks.map((task) => {
    if (quantity === "cpu") return task.cpus;
    return quantity === "memory" ? task.memory_bytes : 0;
  });
  return new Set(limits).size === 1 ? (limits[0] ?? 0) : 0;
}

function extremesOf(
  tasks: readonly Task[],
  quantity: Quantity,
  x: number[],
  words: Words,
  isDark: boolean,
): ChartLine[] {
  const columns = x.map((_, at) =>
    tasks.flatMap((task) => {
      const value = valuesOf(task, quantity)[at];
      return value === null || value === undefined ? [] : [value];
    }),
  );
  const line = (id: string, label: string, color: number, of: (values: number[]) => number) => ({
    id,
    label,
    color: colorOf(color, isDark),
    x,
    y: columns.map((values) => (values.length ? of(values) : null)),
    hasGaps: true,
  });
  return [
    line("highest", words.highest, 1, highestOf),
    line(
      "mean",
      words.mean,
      0,
      (values) => values.reduce((sum, one) => sum + one, 0) / values.length,
    ),
    line("lowest", words.lowest, 2, lowestOf),
  ];
}
