import { expect, test } from "vitest";
import { folderOf } from "./folder";

const file = (path: string, text = "x") => ({ path, file: new File([text], path) });

test("a folder's own name is no part of its paths, and what is ignored stays behind", async () => {
  const picked = [
    file("mine/train.py"),
    file("mine/a/b.py"),
    file("mine/.git/config"),
    file("mine/big.bin"),
    file("mine/.danluignore", "*.bin\n"),
  ];
  const folder = await folderOf(picked);
  expect(folder.name).toBe("mine");
  expect(folder.files.map(({ path }) => path)).toEqual(["train.py", "a/b.py", ".danluignore"]);
  expect(folder.numLeftOut).toBe(2);
});

test("single files and several folders keep their paths", async () => {
  const some = await folderOf([file("train.py"), file("lib/x.py")]);
  expect(some.files.map(({ path }) => path)).toEqual(["train.py", "lib/x.py"]);
  const two = await folderOf([file("a/x.py"), file("b/x.py")]);
  expect(two.files.map(({ path }) => path)).toEqual(["a/x.py", "b/x.py"]);
});
