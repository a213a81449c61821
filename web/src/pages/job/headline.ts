import type { SeriesKey } from "@/parts/chart/groups";
import { SYSTEM } from "@/parts/chart/groups";
import { naturally } from "@/parts/order";

/** The metric that says first how training goes: a training loss, any loss, or the first there is. */
export function headline(series: readonly SeriesKey[]): SeriesKey | undefined {
  const own = series.filter((one) => one.type !== SYSTEM);
  const nameOf = (one: SeriesKey) => `${one.type}/${one.name}`;
  const sorted = [...own].sort((a, b) => score(b) - score(a) || naturally(nameOf(a), nameOf(b)));
  return sorted[0];
}

function score({ type, name }: SeriesKey): number {
  const isLoss = /(^|[/_.-])loss$/i.test(name);
  return (isLoss ? 4 : /loss/i.test(name) ? 2 : 0) + (/train/i.test(type + name) ? 1 : 0);
}
