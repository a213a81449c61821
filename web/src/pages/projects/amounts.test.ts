import { expect, it } from "vitest";
import { BadLine, parseAmounts, showAmounts } from "./amounts";

it("reads one amount per line, with units and without", () => {
  expect(parseAmounts("npu = 8\n\n memory=64GB \ncpus: 1.5")).toEqual({
    npu: 8,
    memory: "64GB",
    cpus: 1.5,
  });
});

it("names the line that it cannot read", () => {
  expect(() => parseAmounts("npu = 8\nnpu eight")).toThrow(new BadLine("npu eight"));
});

it("shows what it reads", () => {
  const quotas = [
    { resource: "npu", quota: 8 },
    { resource: "cpus", quota: null },
  ];
  expect(parseAmounts(showAmounts(quotas))).toEqual({ npu: 8 });
});
