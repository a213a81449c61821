import { JOB_STATES, OPEN_STATES, type JobSummary, type JobState } from "@/api/jobs";

/** "open", or states with commas between them; nothing for any. */
export function statesOf(text: string | undefined): readonly JobState[] {
  if (text === undefined) return [];
  if (text === "open") return OPEN_STATES;
  const words = text.split(",");
  return JOB_STATES.filter((state) => words.includes(state));
}

export function matches(
  row: JobSummary,
  wanted: {
    project?: string;
    owner?: string;
    words: readonly string[];
    favourites?: ReadonlySet<string>;
  },
): boolean {
  if (wanted.project !== undefined && row.project !== wanted.project) return false;
  if (wanted.owner !== undefined && row.owner !== wanted.owner) return false;
  if (wanted.favourites !== undefined && !wanted.favourites.has(row.id)) return false;
  if (!wanted.words.length) return true;
  const tags = Object.entries(row.tags).map(([key, value]) => `${key}=${value}`);
  const text = [row.name, row.id, row.owner, row.on, ...tags].join(" ").toLowerCase();
  return wanted.words.every((word) => text.includes(word));
}

export function wordsOf(text: string | undefined): string[] {
  return (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
}
