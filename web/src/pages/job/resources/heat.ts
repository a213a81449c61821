// How busy each rank was over time: a cell per rank and moment.
import { highestOf } from "@/parts/numbers";
import type { Quantity, Resources } from "./quantities";

export type Heat = {
  ranks: readonly number[];
  /** Seconds from the beginning. */
  times: readonly number[];
  /** Per rank, a value per moment; null where nothing was measured. */
  cells: readonly (readonly (number | null)[])[];
  highest: number;
  /** The rank that did least, and its mean. */
  laziest: { rank: number; mean: number } | undefined;
};

/** What can be drawn of some tasks; undefined when fewer than two of them were measured. */
export function heatOf(found: Resources, quantity: Quantity): Heat | undefined {
  const tasks = found.tasks.filter((task) => task.lines[quantity]);
  if (tasks.length < 2) return undefined;
  const first = found.at[0] ?? 0;
  const cells = tasks.map((task) =>
    found.at.map((_, at) => task.lines[quantity]?.mean[at] ?? null),
  );
  const means = tasks.map((task) => ({
    rank: task.rank,
    mean: task.lines[quantity]?.average ?? 0,
  }));
  return {
    ranks: tasks.map((task) => task.rank),
    times: found.at.map((at) => at - first),
    cells,
    highest: highestOf(
      cells.flat().map((value) => value ?? 0),
      0,
    ),
    laziest: means.reduce((least, one) => (one.mean < least.mean ? one : least)),
  };
}
