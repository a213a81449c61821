import { expect, test } from "vitest";
import { amountsOf, lifted, resourcesOf, typedOf } from "./amounts";

const QUOTAS = [
  { resource: "npu", quota: 12 },
  { resource: "memory", quota: 512e9 },
  { resource: "gpu", quota: null },
];

test("a field for each thing that the nodes have or that is limited", () => {
  expect(resourcesOf(["gpu"], QUOTAS)).toEqual(["gpu", "npu", "cpus", "memory"]);
});

test("what was set is typed as it was set, and is sent back the same", () => {
  const typed = typedOf(QUOTAS);
  expect(typed).toEqual({ npu: "12", memory: "512 GB" });
  expect(amountsOf(typed)).toEqual({ npu: 12, memory: "512 GB" });
});

test("a limit whose field is emptied is told before it is gone", () => {
  expect(lifted(QUOTAS, { npu: "4", memory: " " })).toEqual(["memory"]);
});
