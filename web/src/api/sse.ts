// Reading server-sent events from bytes, however they are cut.

export type ServerEvent = { name: string; data: string; id: string };

/** Takes pieces of a stream and gives back the events that are whole. */
export class EventParser {
  private rest = "";

  push(text: string): ServerEvent[] {
    this.rest += text;
    const found: ServerEvent[] = [];
    for (;;) {
      const end = this.rest.indexOf("\n\n");
      if (end < 0) return found;
      const event = parseBlock(this.rest.slice(0, end));
      this.rest = this.rest.slice(end + 2);
      if (event) found.push(event);
    }
  }
}

function parseBlock(block: string): ServerEvent | undefined {
  const event = { name: "message", data: "", id: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event.name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") event.id = value;
  }
  if (!data.length) return undefined;
  return { ...event, data: data.join("\n") };
}
