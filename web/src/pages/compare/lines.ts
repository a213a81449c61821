// Two texts line by line. The library that compares them is loaded with the first comparison.
export type DiffLine =
  { kind: "added" | "removed" | "same"; text: string } | { kind: "skipped"; count: number };

const AROUND = 3;
const MOST_MS = 2_000;

/** Lines that came and went, with a few equal ones around. Fails for texts that take too long to compare. */
export async function changedLines(before: string, after: string): Promise<DiffLine[]> {
  const { diffLines } = await import("diff");
  const parts = diffLines(before, after, { timeout: MOST_MS }) as
    ReturnType<typeof diffLines> | undefined;
  if (!parts) throw new Error("the texts differ too much");
  return parts.flatMap((part, at): DiffLine[] => {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.added || part.removed)
      return lines.map((text) => ({ kind: part.added ? "added" : "removed", text }));
    const head = at === 0 ? 0 : AROUND;
    const tail = at === parts.length - 1 ? 0 : AROUND;
    const count = lines.length - head - tail;
    const same = (some: readonly string[]) => some.map((text) => ({ kind: "same" as const, text }));
    if (count <= 1) return same(lines);
    return [
      ...same(lines.slice(0, head)),
      { kind: "skipped", count },
      ...same(lines.slice(lines.length - tail)),
    ];
  });
}
