import { expect, test } from "vitest";
import { specAsYaml } from "./spec";

test("lines are kept as lines, with all line ends at the end", () => {
  expect(specAsYaml({ command: "echo one\necho two" })).toBe(
    "command: |-\n  echo one\n  echo two\n",
  );
  expect(specAsYaml({ command: "echo one\n\n" })).toBe("command: |+\n  echo one\n\n");
});

test("what would be read as something else is quoted", () => {
  expect(specAsYaml({ env: { A: "yes", B: "007", C: "a: b", D: "\tx\ny" } })).toBe(
    'env:\n  A: "yes"\n  B: "007"\n  C: "a: b"\n  D: "\\tx\\ny"\n',
  );
});

test("what cannot be seen is written out", () => {
  expect(specAsYaml({ name: "a\u202Eb\u007F\u{E0041}\nc" })).toBe(
    'name: "a\\u202eb\\u007f\\U000e0041\\nc"\n',
  );
});
