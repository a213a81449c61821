import { expect, test } from "vitest";
import { EventParser } from "./sse";

const STREAM =
  ': hello\n\nid: 7\nevent: job\ndata: {"name":"<b>中文</b>"}\n\nevent: end\ndata: {}\n\n: still here\n\ndata: a\ndata: b\n\n';
const EVENTS = [
  { name: "job", data: '{"name":"<b>中文</b>"}', id: "7" },
  { name: "end", data: "{}", id: "" },
  { name: "message", data: "a\nb", id: "" },
];

test("events are whole however the stream is cut", () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) {
      found.push(...parser.push(STREAM.slice(at, at + size)));
    }
    expect(found).toEqual(EVENTS);
  }
});

test("an event that has not ended is not told", () => {
  expect(new EventParser().push("event: job\ndata: {}\n")).toEqual([]);
});
