import type { Media } from "@/api/runs";
import { naturally } from "@/parts/order";

const PAGES = ["text/html", "application/vnd.plotly.v1+json"];

/** Whether a medium is a page of its own: the browser fetches it by itself. */
export function isPage({ format }: Pick<Media, "format">): boolean {
  return PAGES.includes(format);
}

/** Media of one name together, by step and then by time; the names in natural order. */
export function mediaByName(media: readonly Media[]): [name: string, steps: Media[]][] {
  const found = new Map<string, Media[]>();
  for (const one of media) {
    const name = [one.type, one.name].filter(Boolean).join("/");
    const steps = found.get(name);
    if (steps) steps.push(one);
    else found.set(name, [one]);
  }
  for (const steps of found.values())
    steps.sort((a, b) => (a.step ?? 0) - (b.step ?? 0) || a.time - b.time);
  return [...found].sort(([a], [b]) => naturally(a, b));
}
