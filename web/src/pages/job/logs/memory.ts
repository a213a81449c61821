import { LogStore } from "./store";

/** A log that is put together here. */
export class Memory {
  private bytes: Uint8Array;
  readonly store: LogStore;

  constructor(text: string) {
    this.bytes = new TextEncoder().encode(text);
    this.store = new LogStore(
      (offset, size) => Promise.resolve(this.bytes.slice(offset, offset + size)),
      this.bytes.length,
    );
  }

  add(text: string): void {
    const more = new TextEncoder().encode(text);
    const joined = new Uint8Array(this.bytes.length + more.length);
    joined.set(this.bytes);
    joined.set(more, this.bytes.length);
    const offset = this.bytes.length;
    this.bytes = joined;
    this.store.grow(offset, joined.length, more);
  }
}
