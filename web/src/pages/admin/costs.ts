import type { Schemas } from "@/api/client";

export type CostRow = Schemas["CostRow"];
export const COSTS_BY = ["both", "project", "user"] as const;
export type CostsBy = (typeof COSTS_BY)[number];

/** What is shown in a row: names that are not asked for are left out, and what they have is added up. */
export type CostSum = {
  project?: string;
  user?: string;
  currency: string;
  jobs: number;
  hours: number;
  cost: number;
};

/** One row for each project and user, for each project, or for each user; currencies are never added up. */
export function summed(items: readonly CostRow[], by: CostsBy): CostSum[] {
  const found = new Map<string, CostSum>();
  for (const item of items) {
    const names = {
      ...(by === "user" ? {} : { project: item.project }),
      ...(by === "project" ? {} : { user: item.user }),
    };
    const key = JSON.stringify([names, item.currency]);
    const sum = found.get(key) ?? { ...names, currency: item.currency, jobs: 0, hours: 0, cost: 0 };
    sum.jobs += item.num_jobs;
    sum.hours += item.hours;
    sum.cost += Number(item.cost);
    found.set(key, sum);
  }
  return [...found.values()].sort((one, other) => other.cost - one.cost);
}

/** What everything costs together, by currency. */
export function totals(items: readonly CostRow[]): [currency: string, cost: number][] {
  const found = new Map<string, number>();
  for (const item of items)
    found.set(item.currency, (found.get(item.currency) ?? 0) + Number(item.cost));
  return [...found.entries()].sort(([one], [other]) => one.localeCompare(other));
}
