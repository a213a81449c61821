import type { RunsWanted } from "@/api/runs";

const SPEAKS = /[=<>~()`]|\b(in|and|or|not)\b/;

/** What is typed, in the server's filter language: words without any of its signs are looked for in names. */
export function asFilter(text: string | undefined): string | undefined {
  const wanted = text?.trim();
  if (!wanted) return undefined;
  if (SPEAKS.test(wanted)) return wanted;
  return wanted
    .split(/\s+/)
    .map((word) => `name ~ ${quoted(word)}`)
    .join(" and ");
}

export function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function wantedOf(search: { q?: string; folder?: string; bin?: boolean }): RunsWanted {
  return { filter: asFilter(search.q), folder: search.folder, deleted: search.bin };
}
