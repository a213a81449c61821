import { flatten, showValue } from "@/parts/numbers";

/** What a run ran in, as text by name; packages each under their own name. */
export function environmentOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const { packages, ...rest } = values;
  const found = Object.entries(flatten(rest)).map(
    ([key, value]) => [key, showValue(value)] as const,
  );
  const listed: [string, string | undefined][] = Array.isArray(packages)
    ? packages.map((line) => String(line).split("==", 2) as [string, string | undefined])
    : Object.entries((packages ?? {}) as Record<string, unknown>).map(([name, version]) => [
        name,
        showValue(version),
      ]);
  return Object.fromEntries([
    ...found,
    ...listed.map(([name, version]) => [`packages.${name}`, version ?? ""] as const),
  ]);
}
