import { expect, it } from "vitest";
import { messages as en } from "./en/messages";
import { told, toldAll } from "./told";
import { messages as zh } from "./zh/messages";

const said = {
  code: "retry_in",
  params: { time: "1m05s", number: "1", most: "3" },
  inner: { code: "exit_code", params: { rank: "rank 0", exit_code: "1" } },
};

it("a message is told in the reader's language, with what is in it", () => {
  const english = "rank 0 ended with code 1; retrying in 1m05s (retry 1 of 3)";
  expect(told(en, said, english)).toBe(english);
  expect(told(zh, said, english)).toBe(
    "rank 0 以退出码 1 结束；1 分 5 秒后重试（第 1 次，最多 3 次）",
  );
});

it("what the catalogue does not know stays as the server said it", () => {
  expect(told(zh, undefined, "as it is")).toBe("as it is");
  expect(told(zh, { code: "of a newer server", params: {} }, "as it is")).toBe("as it is");
  expect(told(zh, { code: "text", params: { text: "own words" } }, "own words")).toBe("own words");
});

it("a sentence is in one language", () => {
  const parts = [said, { code: "places", params: { places: "0", tasks: "2" } }];
  expect(toldAll(zh, parts, "…")).toMatch(
    /^rank 0 以退出码 1 结束；.*；2 个实例中有 0 个可以放置$/,
  );
  expect(toldAll(zh, [...parts, { code: "of a newer server", params: {} }], "english")).toBe(
    "english",
  );
  expect(toldAll(en, parts, "english")).toBe("english");
});
