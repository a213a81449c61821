// How much was held over time: the mean of each part of a period, by owner.
import type { Holding } from "@/api/nodes";
import { timesOf } from "./lanes";

export type Quantity = "devices" | "cores";

/** What each owner held on average; users that one does not see are "". */
export type Part = { from: number; to: number; held: Map<string, number>; sum: number };

export function historyOf(
  holdings: readonly Holding[],
  { since, until, parts }: { since: number; until: number; parts: number },
  quantity: Quantity,
): Part[] {
  const length = (until - since) / parts;
  const found = Array.from({ length: parts }, (_, at): Part => {
    const from = since + at * length;
    return { from, to: from + length, held: new Map<string, number>(), sum: 0 };
  });
  for (const holding of holdings) {
    const amount = quantity === "devices" ? holding.device_ids.length : holding.cpus;
    const [begin, end] = timesOf(holding, until);
    if (!amount || end <= since) continue;
    const owner = holding.owner ?? "";
    for (const part of found.slice(Math.max(0, Math.floor((begin - since) / length)))) {
      if (part.from >= end) break;
      const share = (Math.min(end, part.to) - Math.max(begin, part.from)) / length;
      const mean = amount * Math.max(0, share);
      part.held.set(owner, (part.held.get(owner) ?? 0) + mean);
      part.sum += mean;
    }
  }
  return found;
}
