import { expect, it } from "vitest";
import { changedLines } from "./lines";

it("shows what changed with a few lines around it", async () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${String(at)}`);
  const after = lines.map((line) => (line === "line 10" ? "changed" : line)).join("\n");
  expect(await changedLines(lines.join("\n"), after)).toEqual([
    { kind: "skipped", count: 7 },
    ...["line 7", "line 8", "line 9"].map((text) => ({ kind: "same", text })),
    { kind: "removed", text: "line 10" },
    { kind: "added", text: "changed" },
    ...["line 11", "line 12", "line 13"].map((text) => ({ kind: "same", text })),
    { kind: "skipped", count: 6 },
  ]);
});

it("a text that was not there is all new", async () => {
  expect(await changedLines("", "a\nb\n")).toEqual([
    { kind: "added", text: "a" },
    { kind: "added", text: "b" },
  ]);
});
