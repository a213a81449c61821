import { own } from "@/parts/own";
import type { Texts } from "@/texts/language";

/** What a tag is called; one that a newer server has is shown as it is. */
export function tagName(tag: string, { examples }: Texts): string {
  const known: Readonly<Record<string, string>> = examples.tags;
  return own(known, tag) ?? tag;
}
