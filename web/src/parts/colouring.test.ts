import { expect, test } from "vitest";
import { coloured } from "./colouring";

const joined = (text: string, name: string) =>
  coloured(text, name)
    .map((line) => line.map(([, part]) => part).join(""))
    .join("\n");

test("nothing of a file gets lost", () => {
  const text = 'def f(x):  # one "two"\n    """Many\n    lines."""\n\n    return "a\\"b" + x\n';
  for (const name of ["a.py", "a.sh", "a.yml", "a.txt", "Makefile"])
    expect(joined(text, name)).toBe(text);
});

test("comments, texts and words are told apart", () => {
  expect(coloured('x = "# no"  # yes', "a.py")[0]).toEqual([
    ["", "x = "],
    ["text", '"# no"'],
    ["", "  "],
    ["comment", "# yes"],
  ]);
  expect(coloured('"""a\nb"""', "a.py")).toEqual([[["text", '"""a']], [["text", 'b"""']]]);
  expect(coloured("name: hello", "job.yml")[0]?.[0]).toEqual(["key", "name"]);
  expect(coloured("imported = 1", "a.py")).toEqual([[["", "imported = 1"]]]);
});
