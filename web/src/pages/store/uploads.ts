// Files on their way into the store: a few at a time, with how far they are.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { sendObject, type Sending } from "@/api/store";

const AT_A_TIME = 3;

export type Picked = { path: string; file: File };
export type UploadState = {
  total: number;
  done: number;
  bytes: number;
  sent: number;
  problems: { path: string; error: unknown }[];
};

export function useUploads(bucket: string, prefix: string) {
  const client = useQueryClient();
  const [state, setState] = useState<UploadState>();
  const under = useRef(new Set<Sending>());
  const isStopped = useRef(false);

  const start = async (picked: readonly Picked[]): Promise<UploadState> => {
    isStopped.current = false;
    const sent = new Map<string, number>();
    const now: UploadState = {
      total: picked.length,
      done: 0,
      bytes: picked.reduce((sum, { file }) => sum + file.size, 0),
      sent: 0,
      problems: [],
    };
    const show = () => {
      now.sent = [...sent.values()].reduce((sum, bytes) => sum + bytes, 0);
      setState({ ...now, problems: [...now.problems] });
    };
    show();
    const waiting = [...picked];
    const work = async () => {
      for (let next = waiting.shift(); next && !isStopped.current; next = waiting.shift()) {
        const { path, file } = next;
        const sending = sendObject(bucket, prefix + path, file, (bytes) => {
          sent.set(path, bytes);
          show();
        });
        under.current.add(sending);
        try {
          await sending.done;
          now.done += 1;
          sent.set(path, file.size);
        } catch (error) {
          if (!isStopped.current) now.problems.push({ path, error });
        }
        under.current.delete(sending);
        show();
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    await client.invalidateQueries({ queryKey: ["objects", bucket] });
    setState(undefined);
    return now;
  };
  const stop = () => {
    isStopped.current = true;
    for (const sending of under.current) sending.stop();
  };
  return { state, start, stop };
}

/** What was chosen in a file dialog; of a folder, with the paths within it. */
export function pickedFrom(files: FileList): Picked[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** What was dropped, folders with all that is in them. */
export async function droppedFrom(items: DataTransferItemList): Promise<Picked[]> {
  const entries = [...items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null);
  const found: Picked[] = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry: FileSystemEntry, found: Picked[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => {
      (entry as FileSystemFileEntry).file(resolve, reject);
    });
    found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // a reader gives at most a hundred at a time
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!some.length) return;
    for (const one of some) await walk(one, found);
  }
}
