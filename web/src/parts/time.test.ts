import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import { texts } from "@/texts/en";
import { Speaking } from "@/texts/language";
import { Ago, Moment, ago, exact, showSeconds, timeAt, timeOfDay } from "./time";

const NO_TIMES = [1e300, -1e300, NaN, Infinity, 8.7e12];

test("how long something took is said in the reader's units", () => {
  expect(showSeconds(988, "zh-CN")).toBe("16 分 28 秒");
  expect(showSeconds(988, "en-US")).toBe("16 m 28 s");
  expect(showSeconds(187_200, "zh-CN")).toBe("2 天 4 小时");
});

test("when something was is said in the reader's language, and never in the future", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(ago(now - 180_000, now, "zh-CN")).toBe("3分钟前");
  expect(ago(now + 5_000, now, "en-US")).toBe("now");
});

test("what is no time breaks no page", () => {
  for (const seconds of NO_TIMES) {
    expect(timeAt(seconds)).toBeUndefined();
    expect(timeOfDay(seconds, "en")).toBe("");
    expect(exact(new Date(seconds * 1000), "en")).toBe("–");
  }
  for (const part of [Ago, Moment]) {
    const children = createElement(part, { at: "+275760-13-01T00:00:00" });
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
    const box = document.createElement("div");
    act(() => {
      createRoot(box).render(createElement(Speaking, { language: "en", texts, children }));
    });
    expect(box.textContent).toBe("–");
  }
});

test("midnight is 00:00 in every language", () => {
  const midnight = new Date(2026, 0, 1).getTime() / 1000;
  for (const locale of ["en", "zh-CN", "ja", "de"])
    expect(timeOfDay(midnight, locale)).toMatch(/^0?0:00:00$/);
});
