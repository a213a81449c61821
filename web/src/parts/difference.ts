/** A number against another in percent, such as +12.5 %; undefined where there is nothing to say. */
export function differenceOf(value: unknown, base: unknown): string | undefined {
  if (typeof value !== "number" || typeof base !== "number") return undefined;
  if (!Number.isFinite(value) || !Number.isFinite(base) || base === 0) return undefined;
  const percent = (100 * (value - base)) / Math.abs(base);
  const digits = Math.abs(percent) < 9.995 ? 2 : 1;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(digits)} %`;
}
