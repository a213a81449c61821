import { expect, it } from "vitest";
import { groupSeries, sectionsOf } from "./groups";

const SERIES = [
  { type: "val", name: "loss" },
  { type: "mine", name: "z" },
  { type: "train", name: "loss" },
  { type: "train", name: "acc" },
];

it("puts the kinds of a metric of one run into one chart, train first", () => {
  expect(groupSeries(SERIES, true).map((group) => [group.title, group.series.length])).toEqual([
    ["acc", 1],
    ["loss", 2],
    ["z", 1],
  ]);
});

it("keeps kinds apart when runs are compared, and each once", () => {
  const titles = groupSeries([...SERIES, ...SERIES], false).map((group) => group.title);
  expect(titles).toEqual(["train/acc", "train/loss", "val/loss", "mine/z"]);
});

it("charts are in sections by what their names begin with", () => {
  const titles = ["train/loss", "lr", "train/acc", "val/loss"].map((title) => ({
    title,
    series: [],
  }));
  expect(
    sectionsOf(titles).map(({ name, groups }) => [name, groups.map((one) => one.title)]),
  ).toEqual([
    ["", ["lr"]],
    ["train", ["train/loss", "train/acc"]],
    ["val", ["val/loss"]],
  ]);
});
