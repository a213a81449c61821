import { expect, test } from "vitest";
import { texts as en } from "@/texts/en";
import { texts as zh } from "@/texts/zh";
import { detailsOf } from "./details";

const INVITED = { is_admin: false, role: "viewer", project: "vision" };

test("what the audit log has about a change is named in the reader's language", () => {
  expect(detailsOf(INVITED, zh)).toBe("管理员：否；角色：只读成员；项目：vision");
  expect(detailsOf(INVITED, en)).toBe("admin: No; role: Viewer; project: vision");
  expect(detailsOf({ way: "password" }, zh)).toBe("登录方式：密码");
});

test("what a newer server has is shown as it is", () => {
  expect(detailsOf({ orbit: { low: 7 }, constructor: "x", role: "pilot" }, zh)).toBe(
    'orbit：{"low":7}；constructor：x；角色：pilot',
  );
});
