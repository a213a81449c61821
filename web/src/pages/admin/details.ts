import type { Schemas } from "@/api/client";
import { own } from "@/parts/own";
import type { Texts } from "@/texts/language";

type Told = Pick<Texts, "admin" | "common" | "details" | "messages">;

/** What the audit log has about a change, in the reader's language; of a newer server as it is. */
export function detailsOf(details: Schemas["AuditOut"]["details"], texts: Told): string {
  return Object.entries(details)
    .map(([name, value]) => {
      const { names } = texts.details;
      return `${own(names, name) ?? name}${texts.messages.of}${shown(name, value, texts)}`;
    })
    .join(texts.messages.and);
}

function shown(name: string, value: unknown, { admin, common, details }: Told): string {
  const words: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    role: admin.roles,
    way: details.ways,
    scope: details.scopes,
    kind: details.kinds,
  };
  if (typeof value === "boolean") return value ? common.yes : common.no;
  if (typeof value !== "string") return JSON.stringify(value);
  return own(own(words, name) ?? {}, value) ?? value;
}
