import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { digestOf } from "./hash";

const MIB = 1 << 20;

test.each([0, 1, 55, 56, 63, 64, 65, 70_000, 8 * MIB, 8 * MIB + 1])(
  "a digest of %i bytes is the same with and without the browser's own",
  async (size) => {
    const data = new Uint8Array(Buffer.alloc(size, "some words "));
    const blob = new Blob([data]);
    const wanted = createHash("sha256").update(data).digest("hex");
    expect(await digestOf(blob, false)).toBe(wanted);
    expect(await digestOf(blob, true)).toBe(wanted);
  },
);
