// What runs can be looked at by: their own fields, hyperparameters, metrics, and what is in their summary.
import type { RunSummary } from "@/api/runs";
import { flatten, lastOf } from "@/parts/numbers";
import { naturally } from "@/parts/order";
import { tableOf } from "@/parts/own";

export type ValueKind = "hparams" | "metrics" | "summary";
/** Such as `hparams.lr` or `metrics.val.accuracy`: as in the filter language. */
export type ValueKey = string;
export type Values = Readonly<Record<ValueKey, unknown>>;

const known = new WeakMap<RunSummary, Values>();

/** All values of a run by their keys. Worked out once per run. */
export function valuesOf(run: RunSummary): Values {
  const before = known.get(run);
  if (before) return before;
  const values = tableOf<unknown>();
  for (const [key, value] of Object.entries(flatten(run.hparams ?? {})))
    values[`hparams.${key}`] = value;
  for (const metric of run.metrics ?? []) values[keyOfMetric(metric)] = lastOf(metric);
  for (const [key, value] of Object.entries(flatten(run.summary ?? {})))
    values[`summary.${key}`] = value;
  known.set(run, values);
  return values;
}

const BEST = /^(min|max)\((metrics\..+)\)$/;

/** The value of a column: `min(…)` and `max(…)` of a metric are its best values, as in the filter language. */
export function valueOf(run: RunSummary, key: ValueKey): unknown {
  const [, which, metric] = BEST.exec(key) ?? [];
  if (metric === undefined) return valuesOf(run)[key];
  const found = (run.metrics ?? []).find((one) => keyOfMetric(one) === metric);
  return found && (which === "min" ? found.low : found.high);
}

function keyOfMetric(metric: { type: string; name: string }): ValueKey {
  return `metrics.${metric.type ? `${metric.type}.` : ""}${metric.name}`;
}

/** All keys that some run has: metrics, hyperparameters, summaries, each by name. */
export function keysOf(runs: readonly RunSummary[]): Record<ValueKind, ValueKey[]> {
  const found: Record<ValueKind, Set<string>> = {
    metrics: new Set(),
    hparams: new Set(),
    summary: new Set(),
  };
  for (const run of runs)
    for (const key of Object.keys(valuesOf(run)))
      found[key.slice(0, key.indexOf(".")) as ValueKind].add(key);
  const inOrder = (keys: Set<string>) => [...keys].sort(naturally);
  return {
    metrics: inOrder(found.metrics),
    hparams: inOrder(found.hparams),
    summary: inOrder(found.summary),
  };
}

/** Those of the keys in which the runs differ. */
export function differing(runs: readonly RunSummary[], keys: readonly ValueKey[]): ValueKey[] {
  return keys.filter((key) => {
    const first = comparable(runs[0] && valuesOf(runs[0])[key]);
    return runs.some((run) => comparable(valuesOf(run)[key]) !== first);
  });
}

function comparable(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : JSON.stringify(value);
}

/** `hparams.optimizer.lr` is called `optimizer.lr` where it is clear that it is a hyperparameter. */
export function shortKey(key: ValueKey): string {
  const [, which, metric] = BEST.exec(key) ?? [];
  if (which !== undefined && metric !== undefined) return `${which} ${shortKey(metric)}`;
  return key.slice(key.indexOf(".") + 1);
}
