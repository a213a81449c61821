import { expect, it } from "vitest";
import { ACTIONS } from "./actions";

it("knows what the server notes", () => {
  expect(ACTIONS).toContain("user.disable");
  expect(new Set(ACTIONS).size).toBe(ACTIONS.length);
});
