import { expect, test } from "vitest";
import { fileName } from "./saving";

test.each([
  ["models/best.pt", "best.pt"],
  ["photo\u202Egpj.exe", "photo_gpj.exe"],
  ['a"b<c>:d|e?f*g\\h\ni.txt', "a_b_c__d_e_f_g_h_i.txt"],
  [`${"x".repeat(500)}.tar.gz`, `${"x".repeat(143)}.tar.gz`],
  ["", "file"],
])("%j is saved as %s", (path, name) => {
  expect(fileName(path)).toBe(name);
});
