import { flatten, showValue } from "@/parts/numbers";
import { tableOf } from "@/parts/own";

/** What a run ran in, as text by name; packages each under their own name. */
export function environmentOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const { packages, ...rest } = values;
  const found = Object.entries(flatten(rest)).map(
    ([key, value]) => [key, showValue(value)] as const,
  );
  return tableOf([
    ...found,
    ...packagesIn(packages).map(([name, version]) => [`packages.${name}`, version] as const),
  ]);
}

/** Names and versions, of a list such as `pip freeze` has it or of a mapping. */
function packagesIn(packages: unknown): [name: string, version: string][] {
  if (Array.isArray(packages))
    return packages
      .filter((line) => typeof line === "string")
      .map((line) => {
        const [name = "", version = ""] = line.split("==", 2);
        return [name, version];
      });
  return Object.entries((packages ?? {}) as Record<string, unknown>).map(([name, version]) => [
    name,
    showValue(version),
  ]);
}
