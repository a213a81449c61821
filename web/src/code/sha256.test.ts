import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Sha256 } from "./sha256";

const text = (value: string) => new TextEncoder().encode(value);

test("the examples of the standard", () => {
  expect(new Sha256().hex()).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  );
  expect(new Sha256().update(text("abc")).hex()).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

test("any length, in any pieces, is as Node has it", () => {
  const data = Uint8Array.from({ length: 1000 }, (_, at) => (at * 7919) % 251);
  for (let size = 0; size <= 200; size++) {
    const part = data.subarray(3, 3 + size); // not at the start of its buffer
    const wanted = createHash("sha256").update(part).digest("hex");
    expect(new Sha256().update(part).hex()).toBe(wanted);
    const cut = Math.floor(size / 3);
    const pieces = new Sha256().update(part.subarray(0, cut)).update(part.subarray(cut, cut + 1));
    expect(pieces.update(part.subarray(cut + 1)).hex()).toBe(wanted);
  }
});
