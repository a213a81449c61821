import { own } from "@/parts/own";
import type { messages as en } from "../en/messages";
import { timeInChinese } from "../told";
import catalogue from "./catalogue.json";

/** The server's catalogue in Chinese: `scripts/make_messages.py` writes it. */
export const reasons: Record<string, { cause: string; remedy: string }> = catalogue.reasons;

const words: Readonly<Record<string, Readonly<Record<string, string>>>> = catalogue.words;

const phrases = catalogue.phrases.map(
  ({ pattern, chinese }) => [new RegExp(pattern, "g"), chinese] as const,
);

export const messages: typeof en = {
  templates: catalogue.messages,
  param: (name, value) => {
    if (name.startsWith("time")) return timeInChinese(value);
    if (Object.hasOwn(catalogue.amounts, name))
      return phrases.reduce((told, [pattern, chinese]) => told.replace(pattern, chinese), value);
    return own(own(words, name) ?? {}, value) ?? value;
  },
  and: "；",
  of: "：",
  answered: (status) => `服务器返回状态 ${String(status)}。`,
  tooManyPages: (most) => `列表超过 ${String(most)} 页。`,
  stillMissing: "文件已发送，但服务器上仍缺少一部分。请重试。",
  incomplete: (file) => `${file} 未完整收到。请重试。`,
};
