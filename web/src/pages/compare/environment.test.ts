import { expect, test } from "vitest";
import { environmentOf } from "./environment";

test("packages are told one by one", () => {
  expect(
    environmentOf({ git: { commit: "abc" }, packages: ["torch==2.13.0", "numpy==2.0"] }),
  ).toEqual({
    "git.commit": "abc",
    "packages.torch": "2.13.0",
    "packages.numpy": "2.0",
  });
});
