import { useEffect, useRef, useState } from "react";
import { folderOf, sendFolder, type Progress } from "@/code/folder";
import type { Picked } from "@/parts/picked";

export type Brought = { digest: string; name: string; numLeftOut: number };

export type CodeUpload = {
  progress: Progress | undefined;
  problem: unknown;
  /** The last folder that was brought. */
  brought: Brought | undefined;
  start: (picked: readonly Picked[]) => void;
  /** What was dropped could not be read. */
  fail: (problem: unknown) => void;
  stop: () => void;
};

/** Bring folders of this machine to the server, one at a time; each ends in the digest of its tree. */
export function useCode(onDone: (digest: string) => void): CodeUpload {
  const [progress, setProgress] = useState<Progress>();
  const [problem, setProblem] = useState<unknown>();
  const [brought, setBrought] = useState<Brought>();
  const under = useRef<AbortController>(undefined);
  useEffect(
    () => () => {
      under.current?.abort();
    },
    [],
  );
  const start = (picked: readonly Picked[]) => {
    under.current?.abort();
    const mine = new AbortController();
    under.current = mine;
    setProblem(undefined);
    setProgress({ step: "reading", done: 0, total: picked.length });
    const bring = async () => {
      const folder = await folderOf(picked);
      const digest = await sendFolder(folder, mine.signal, (now) => {
        if (!mine.signal.aborted) setProgress(now);
      });
      mine.signal.throwIfAborted();
      setBrought({ digest, name: folder.name, numLeftOut: folder.numLeftOut });
      onDone(digest);
    };
    bring()
      .catch((error: unknown) => {
        if (!mine.signal.aborted) setProblem(error);
      })
      .finally(() => {
        if (under.current === mine) setProgress(undefined);
      });
  };
  const stop = () => {
    under.current?.abort();
    setProgress(undefined);
  };
  return { progress, problem, brought, start, fail: setProblem, stop };
}
