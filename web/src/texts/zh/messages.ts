import type { messages as en } from "../en/messages";
import { timeInChinese } from "../told";
import catalogue from "./catalogue.json";

/** The server's catalogue in Chinese: `scripts/make_messages.py` writes it. */
export const reasons: Record<string, { cause: string; remedy: string }> = catalogue.reasons;

const SCOPES: Readonly<Record<string, string>> = { project: "项目", user: "用户" };

export const messages: typeof en = {
  templates: catalogue.messages,
  param: (name, value) =>
    name.startsWith("time")
      ? timeInChinese(value)
      : name === "scope"
        ? (SCOPES[value] ?? value)
        : value,
};
