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
  const own = ["first", "second"].map((text) => ({ code: "text", params: { text } }));
  expect(toldAll(en, own, "english")).toBe("first; second");
  expect(toldAll(zh, own, "english")).toBe("first；second");
});

it("amounts are told in the words of the field, as by the server", () => {
  const nodes = "4 npu, 2 cpus, 8 task slots on n1; 4 npu, 8 task slots on n2; and 3 more nodes";
  const large = { code: "larger_than_nodes", params: { shape: "2 x (npu:4)", nodes } };
  expect(told(zh, large, "")).toBe(
    "请求 2 × (npu:4)，超过空闲节点的全部资源：n1：4 npu、2 核、8 个实例位；n2：4 npu、8 个实例位；以及另外 3 个节点",
  );
});
