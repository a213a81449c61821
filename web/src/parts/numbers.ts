import { tableOf } from "./own";

/** A number people can read: four digits that count, and powers of ten only where they help. */
export function showNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

const ODD: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** The last value of a metric. JSON has neither NaN nor infinity: `odd` says which one it is. */
export function lastOf(metric: { last?: number | null; odd?: string | null }): number | null {
  return metric.last ?? (metric.odd ? (ODD[metric.odd] ?? NaN) : null);
}

/** 0 B, 512 B, 1.5 KiB, 64 GiB: powers of 1024, as on the command line. */
export function showBytes(bytes: number): string {
  if (bytes < 1024) return `${String(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : String(Math.round(value))} ${units[unit] ?? ""}`;
}

/** An amount that a user chose, in the unit in which it is a round number: 512 GB stays 512 GB. */
export function showAmountOfBytes(bytes: number): string {
  const decimal = [
    ["TB", 1e12],
    ["GB", 1e9],
    ["MB", 1e6],
  ] as const;
  const binary = [
    ["TiB", 2 ** 40],
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
  ] as const;
  for (const [unit, size] of [...binary, ...decimal])
    if (bytes >= size && bytes % size === 0) return `${String(bytes / size)} ${unit}`;
  return showBytes(bytes);
}

/** Any value of a hyperparameter or a summary, in one line. */
export function showValue(value: unknown): string {
  if (typeof value === "number") return showNumber(value);
  if (typeof value === "string") return value;
  if (value === undefined) return "–";
  return JSON.stringify(value);
}

/** Nested mappings as one, with dotted keys. */
export function flatten(
  values: Readonly<Record<string, unknown>>,
  prefix = "",
): Record<string, unknown> {
  const flat = tableOf<unknown>();
  for (const [key, value] of Object.entries(values)) {
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isMap && Object.keys(value).length)
      Object.assign(flat, flatten(value as Record<string, unknown>, `${prefix}${key}.`));
    else flat[prefix + key] = value;
  }
  return flat;
}

/** The highest of any number of values; `otherwise` when there is none. `Math.max(...values)` fails beyond 100,000. */
export function highestOf(values: Iterable<number>, otherwise = -Infinity): number {
  let highest = -Infinity;
  for (const value of values) if (value > highest) highest = value;
  return highest === -Infinity ? otherwise : highest;
}

/** The lowest of any number of values; `otherwise` when there is none. */
export function lowestOf(values: Iterable<number>, otherwise = Infinity): number {
  let lowest = Infinity;
  for (const value of values) if (value < lowest) lowest = value;
  return lowest === Infinity ? otherwise : lowest;
}
