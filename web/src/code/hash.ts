// SHA-256 of files, away from the page: it stays quick while a large folder is read.

const PIECE = 8 << 20;
const AT_ONCE = 32 << 20;

/** The digest of a file: by the browser where it can and the file is not too large to hold, else by a library. */
export async function digestOf(file: Blob, isBuiltIn = hasBuiltIn()): Promise<string> {
  if (isBuiltIn && file.size <= AT_ONCE) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    return hexOf(digest);
  }
  const { sha256 } = await import("@noble/hashes/sha2.js");
  const sum = sha256.create();
  for (let at = 0; at < file.size; at += PIECE) {
    sum.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
  }
  return hexOf(sum.digest());
}

function hexOf(digest: Uint8Array): string {
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function hasBuiltIn(): boolean {
  // only on https and on localhost
  return "crypto" in globalThis && (crypto as { subtle?: SubtleCrypto }).subtle !== undefined;
}

export type Hashed =
  { at: number; sha256: string; isScript: boolean } | { at: number; told: string };

/** Hash files in a worker, one after the other. Rejects with the file that could not be read, or when stopped. */
export function hashFiles(
  files: readonly File[],
  signal: AbortSignal,
  onEach: (at: number) => void,
): Promise<{ sha256: string; isScript: boolean }[]> {
  const worker = new Worker(new URL("./hash.worker.ts", import.meta.url), { type: "module" });
  const found: { sha256: string; isScript: boolean }[] = [];
  return new Promise<typeof found>((resolve, reject) => {
    const stop = () => {
      reject(new DOMException("stopped", "AbortError"));
    };
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    worker.onerror = (event) => {
      reject(new Error(event.message));
    };
    worker.onmessage = ({ data }: MessageEvent<Hashed>) => {
      if ("told" in data) {
        reject(new UnreadableFile(files[data.at]?.name ?? "", data.told));
        return;
      }
      found.push(data);
      onEach(data.at);
      if (found.length === files.length) resolve(found);
    };
    if (!files.length) resolve(found);
    else worker.postMessage(files);
  }).finally(() => {
    worker.terminate();
  });
}

export class UnreadableFile extends Error {
  constructor(
    readonly file: string,
    told: string,
  ) {
    super(told);
  }
}
