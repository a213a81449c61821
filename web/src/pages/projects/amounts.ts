// Amounts as people type them: one per line, `npu = 8`, `memory = 64GB`.

export type Amounts = Record<string, number | string>;

const LINE = /^([\w.:-]+)\s*[=:]\s*(\S+)$/;

export class BadLine extends Error {}

/** Throws BadLine with the line that cannot be read. The server judges the values. */
export function parseAmounts(text: string): Amounts {
  const amounts: Amounts = {};
  for (const line of text.split("\n")) {
    const wanted = line.trim();
    if (!wanted) continue;
    const [, name, value] = LINE.exec(wanted) ?? [];
    if (name === undefined || value === undefined) throw new BadLine(wanted);
    amounts[name] = Number.isFinite(Number(value)) ? Number(value) : value;
  }
  return amounts;
}

export function showAmounts(
  quotas: readonly { resource: string; quota?: number | null }[],
): string {
  return quotas
    .filter((one) => one.quota != null)
    .map((one) => `${one.resource} = ${String(one.quota)}`)
    .join("\n");
}
