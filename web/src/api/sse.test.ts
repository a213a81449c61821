import { expect, test } from "vitest";
import { eventsOf } from "./sse";

const STREAM =
  ': hello\n\nid: 7\nevent: job\ndata: {"name":"<b>中文</b>"}\n\nevent: end\r\ndata: {}\r\n\r\n: still here\n\ndata: a\ndata: b\n\n';
const EVENTS = [
  { name: "job", data: '{"name":"<b>中文</b>"}' },
  { name: "end", data: "{}" },
  { name: "message", data: "a\nb" },
];

function streamOf(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (at >= bytes.length) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

async function all(events: AsyncIterable<unknown>) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

test("events are whole however the bytes are cut", async () => {
  for (let size = 1; size <= STREAM.length; size++) {
    expect(await all(eventsOf(streamOf(STREAM, size)))).toEqual(EVENTS);
  }
});

test("an event that has not ended is not passed on", async () => {
  expect(await all(eventsOf(streamOf("event: job\ndata: {}\n", 5)))).toEqual([]);
});

test("a comment counts as a sign of life", async () => {
  let pieces = 0;
  const events = eventsOf(streamOf(": still here\n\n", 100), () => {
    pieces += 1;
  });
  expect(await all(events)).toEqual([]);
  expect(pieces).toBe(1);
});

test("an event without end is an error, not memory", async () => {
  const stream = streamOf(`data: ${"x".repeat(5000)}`, 100);
  await expect(all(eventsOf(stream, undefined, 1000))).rejects.toThrow(/1000/);
});

test("who has enough closes the connection", async () => {
  let isClosed = false;
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("event: job\ndata: {}\n\n"));
    },
    cancel() {
      isClosed = true;
    },
  });
  for await (const event of eventsOf(endless)) if (event.name === "job") break;
  expect(isClosed).toBe(true);
});
