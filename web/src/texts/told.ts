// Messages of the server in the reader's language. Pure.
import type { Schemas } from "@/api/client";
import { own } from "@/parts/own";
import { messages } from "./en/messages";

type Message = Schemas["Message"];

let now = messages;

/** The messages of the language that is shown: for what is told before a page is drawn, such as problems of a request. */
export function spoken(): typeof messages {
  return now;
}

export function speak(words: typeof messages): void {
  now = words;
}

/** The text of a message; the server's English where this language has none. */
export function told(
  { templates, param }: typeof messages,
  said: Message | null | undefined,
  english: string,
): string {
  return (said && textOf(templates, param, said)) ?? english;
}

/** Several messages as one sentence; the server's English when this language lacks one of them. */
export function toldAll(
  words: typeof messages,
  said: readonly Message[] | undefined,
  english: string,
): string {
  const parts = (said ?? []).map((one) => told(words, one, ""));
  return parts.length && parts.every(Boolean) ? parts.join(words.and) : english;
}

/** Undefined where this language has no text for it. */
function textOf(
  templates: (typeof messages)["templates"],
  param: (typeof messages)["param"],
  { code, params = {}, inner }: Message,
): string | undefined {
  if (code === "text") return params.text;
  const template = own(templates, code);
  return template?.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === "inner" && inner
      ? (textOf(templates, param, inner) ?? "")
      : param(name, params[name] ?? ""),
  );
}

const UNITS: Readonly<Record<string, string>> = { d: "天", h: "小时", m: "分", s: "秒" };

/** `1h02m` is `1 小时 2 分`. */
export function timeInChinese(text: string): string {
  const parts = [...text.matchAll(/(\d+)([dhms])/g)];
  if (!parts.length) return text;
  return parts
    .map(([, count, unit = ""]) => `${String(Number(count))} ${UNITS[unit] ?? ""}`)
    .join(" ");
}
