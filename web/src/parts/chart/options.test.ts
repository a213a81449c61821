import { expect, test } from "vitest";
import { clockTimes } from "./options";

const MINUTE = 60;
const DAY = 86_400;
const midnight = new Date(2026, 10, 19).getTime() / 1000;

test("a clock is told as the reader's country tells it", () => {
  const evening = [midnight - 2 * 3600, midnight, midnight + 2 * 3600];
  expect(clockTimes(evening, 120 * MINUTE, "zh-CN")).toEqual(["22:00", "11月19日", "02:00"]);
  expect(clockTimes(evening, 120 * MINUTE, "en")).toEqual(["22:00", "Nov 19", "02:00"]);
  expect(clockTimes([midnight + 90], 15, "zh-CN")).toEqual(["00:01:30"]);
  expect(clockTimes([midnight + DAY], DAY, "zh-CN")).toEqual(["11月20日"]);
  expect(clockTimes([midnight], 31 * DAY, "zh-CN")).toEqual(["2026年11月"]);
});
