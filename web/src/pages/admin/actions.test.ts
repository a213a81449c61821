import { expect, it } from "vitest";
import { texts as en } from "@/texts/en";
import { texts as zh } from "@/texts/zh";
import { ACTIONS, actionName } from "./actions";

it("knows what the server notes", () => {
  expect(ACTIONS).toContain("user.disable");
  expect(new Set(ACTIONS).size).toBe(ACTIONS.length);
});

it("every action has a name of its own in both languages", () => {
  for (const { actions } of [en, zh]) {
    const names = ACTIONS.map((one) => actionName(one, actions));
    expect(names.filter((name) => name.includes("."))).toEqual([]);
    expect(new Set(names).size).toBe(ACTIONS.length);
  }
  expect(actionName("user.disable", zh.actions)).toBe("停用用户");
  expect(actionName("rocket.launch", zh.actions)).toBe("rocket.launch");
});
