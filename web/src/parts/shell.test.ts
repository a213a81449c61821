import { expect, test } from "vitest";
import { shellLine } from "@/parts/shell";

test("plain words stay as they are", () => {
  expect(shellLine(["python3", "-m", "train", "--lr=0.1", "a/b.py"])).toBe(
    "python3 -m train --lr=0.1 a/b.py",
  );
});

test("what cannot be seen is written out", () => {
  expect(shellLine(["echo", "it's \u202Eexe\u001b[2J"])).toBe(
    `echo $'it\\'s \\U0000202eexe\\U0000001b[2J'`,
  );
});

test("what a shell would take apart is quoted", () => {
  expect(shellLine(["echo", "a b", "it's", "", "$HOME\n"])).toBe(
    `echo 'a b' 'it'\\''s' '' '$HOME\n'`,
  );
});
