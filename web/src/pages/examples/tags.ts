import type { Texts } from "@/texts/language";

/** What a tag is called; one that a newer server has is shown as it is. */
export function tagName(tag: string, { examples }: Texts): string {
  const known: Partial<Record<string, string>> = examples.tags;
  return known[tag] ?? tag;
}
