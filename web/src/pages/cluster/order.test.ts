import { expect, it } from "vitest";
import { inOrder } from "./order";

const job = (id: string, priority = 50) => ({ id, priority });

it("follows what the scheduler told, then priority, then age", () => {
  const jobs = [job("train-9"), job("train-3", 90), job("train-2"), job("train-1")];
  const places = new Map([
    ["train-1", { num_ahead: 1, num_projects_ahead: 0 }],
    ["train-9", { num_ahead: 0, num_projects_ahead: 0 }],
  ]);
  expect(inOrder(jobs, places).map((one) => one.id)).toEqual([
    "train-9",
    "train-1",
    "train-3",
    "train-2",
  ]);
});
