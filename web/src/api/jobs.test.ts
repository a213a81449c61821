import { expect, test } from "vitest";
import { changed, type JobSummary } from "./jobs";

function job(id: string, state: JobSummary["state"]): JobSummary {
  return { id, state, name: id } as JobSummary;
}

const ROWS = [job("train-3", "running"), job("train-2", "queued"), job("train-1", "failed")];

test("a row changes in its place", () => {
  const after = changed(ROWS, new Map([["train-2", job("train-2", "running")]]), []);
  expect(after.map((row) => row.state)).toEqual(["running", "running", "failed"]);
});

test("a new job comes where its id belongs", () => {
  const fresh = new Map([
    ["train-4", job("train-4", "queued")],
    ["train-25", job("train-25", "queued")],
  ]);
  const ids = changed(ROWS, fresh, []).map((row) => row.id);
  expect(ids).toEqual(["train-4", "train-3", "train-25", "train-2", "train-1"]);
});

test("what does not fit the filter any more leaves, and what is gone as well", () => {
  const changes = new Map([
    ["train-3", job("train-3", "succeeded")],
    ["train-2", null],
    ["train-9", job("train-9", "failed")],
  ]);
  const open = [ROWS[0], ROWS[1]] as JobSummary[];
  expect(changed(open, changes, ["running", "queued"])).toEqual([]);
});
