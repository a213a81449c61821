// Trees: folders by content. A tree is sent as a list; of its files only those that the server lacks travel.
import { queryOptions } from "@tanstack/react-query";
import { spoken } from "@/texts/told";
import { addressOf, api, fetched, ok, type Schemas } from "./client";
import { sendBytes, type Sending } from "./sending";

export type TreeFile = Schemas["TreeFile"];
export type ReadFile = TreeFile & { bytes: Blob };

const AT_A_TIME = 4;
const MOST_ROUNDS = 3;

export function treeQuery(digest: string) {
  return queryOptions({
    queryKey: ["tree", digest],
    queryFn: () => ok(api.GET("/api/v1/trees/{digest}", { params: { path: { digest } } })),
    staleTime: Infinity, // a digest's content never changes
  });
}

export async function readBlob(digest: string, most: number): Promise<ArrayBuffer> {
  const answered = await fetched(addressOf("/api/v1/blobs/{digest}", { digest }));
  return (await answered.arrayBuffer()).slice(0, most);
}

/** How far it is: bytes that travel, and how many of them have. */
export type Sent = { bytes: number; sent: number };

/** Bring files to the server as a tree; the answer is its digest. */
export async function sendTree(
  files: readonly ReadFile[],
  signal?: AbortSignal,
  onProgress: (sent: Sent) => void = () => undefined,
): Promise<string> {
  const listed = files.map(({ path, sha256, size, is_executable }) => ({
    path,
    sha256,
    size,
    is_executable,
  }));
  const byDigest = new Map(files.map((file) => [file.sha256, file]));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const told = await ok(api.POST("/api/v1/trees", { body: { files: listed }, signal }));
    if (!told.missing.length) return told.digest;
    const wanted = told.missing.map((digest) => byDigest.get(digest)).filter((file) => !!file);
    await sendAll(wanted, signal, onProgress);
  }
  throw new Error(spoken().stillMissing);
}

async function sendAll(
  files: readonly ReadFile[],
  signal: AbortSignal | undefined,
  onProgress: (sent: Sent) => void,
): Promise<void> {
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  const sent = new Map<string, number>();
  const under = new Set<Sending>();
  const stop = () => {
    for (const one of under) one.stop();
  };
  signal?.addEventListener("abort", stop);
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      signal?.throwIfAborted();
      const { sha256, size } = file;
      const address = addressOf("/api/v1/blobs/{digest}", { digest: sha256 });
      const sending = sendBytes(address, file.bytes, (count) => {
        sent.set(sha256, Math.min(count, size));
        onProgress({ bytes, sent: [...sent.values()].reduce((sum, one) => sum + one, 0) });
      });
      under.add(sending);
      await sending.done;
      under.delete(sending);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
  } catch (error) {
    waiting.length = 0;
    stop();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
