// Files on their way into the store: a few at a time, with how far they are.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { sendObject } from "@/api/store";
import type { Sending } from "@/api/sending";
import type { Picked } from "@/parts/picked";

const AT_A_TIME = 3;

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
