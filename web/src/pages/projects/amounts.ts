// Quotas as people type them: a number of devices or cores, a size of memory.
import { showAmountOfBytes, showNumber } from "@/parts/numbers";

export type Amounts = Record<string, number | string>;
type Line = { resource: string; quota?: number | null };

export const CPUS = "cpus";
export const MEMORY = "memory";

/** What is asked about: what the nodes have, and what is limited already. */
export function resourcesOf(deviceTypes: readonly string[], quotas: readonly Line[]): string[] {
  const limited = quotas.filter((one) => one.quota != null).map((one) => one.resource);
  const devices = [...deviceTypes, ...limited].filter((one) => one !== CPUS && one !== MEMORY);
  return [...new Set([...devices.sort(), CPUS, MEMORY])];
}

export function typedOf(quotas: readonly Line[]): Record<string, string> {
  const limited = quotas.filter((one) => one.quota != null);
  return Object.fromEntries(
    limited.map((one) => [one.resource, showQuota(one.resource, one.quota ?? 0)]),
  );
}

/** What is sent. An empty field is no limit; numbers that are none are the server's to refuse. */
export function amountsOf(typed: Readonly<Record<string, string>>): Amounts {
  const given = Object.entries(typed).filter(([, value]) => value.trim() !== "");
  return Object.fromEntries(
    given.map(([resource, value]) => {
      const number = Number(value);
      return [resource, Number.isFinite(number) ? number : value.trim()];
    }),
  );
}

/** The limits that would be gone. */
export function lifted(
  quotas: readonly Line[],
  typed: Readonly<Record<string, string>>,
): readonly string[] {
  return quotas
    .filter((one) => one.quota != null && (typed[one.resource] ?? "").trim() === "")
    .map((one) => one.resource);
}

export function showQuota(resource: string, value: number): string {
  return resource === MEMORY ? showAmountOfBytes(value) : showNumber(value);
}
