import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Job } from "@/api/jobs";
import { followAllAddress, logEnds, type LogChunk } from "@/api/logs";
import { useStream } from "@/api/stream";
import { Empty, Loading, Notice, Problem } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { interleave, withRank, type RankEnd } from "./interleaved";
import styles from "./logs.module.css";
import { LogView, type LogLook } from "./LogView";
import { Memory } from "./memory";

const MOST_RANKS = 64;

/** The ends of the logs of all ranks, as one. */
export function AllRanks(props: { job: Job; attempt: number; isRunning: boolean; look: LogLook }) {
  const { job, attempt } = props;
  const tasks = job.attempts.find((one) => one.number === attempt)?.tasks ?? [];
  const ranks = tasks.slice(0, MOST_RANKS).map((task) => ({
    rank: task.rank,
    bytes: task.log_bytes,
  }));
  const found = useQuery({
    queryKey: ["all-ranks", job.id, attempt],
    queryFn: ({ signal }) => logEnds(job.id, attempt, ranks, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
  if (found.error) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading lines={8} />;
  return <Interleaved {...props} ends={found.data} />;
}

function Interleaved(props: {
  job: Job;
  attempt: number;
  isRunning: boolean;
  look: LogLook;
  ends: readonly RankEnd[];
}) {
  const { job, attempt, isRunning, ends } = props;
  const { log: texts } = useTexts();
  const [memory] = useState(() => new Memory(interleave(ends)));
  const [isFollowing, setIsFollowing] = useState(true);
  const [offsets] = useState(
    () => new Map(ends.map((end) => [end.rank, end.offset + end.bytes.length])),
  );
  useStream(isRunning ? "all-ranks" : undefined, {
    address: () => followAllAddress(job.id, attempt, offsets),
    onEvent: (event) => {
      if (event.name !== "log") return;
      const chunk = JSON.parse(event.data) as LogChunk;
      offsets.set(chunk.rank, chunk.next_offset);
      memory.add(withRank(chunk.rank, chunk.text));
    },
    isOver: () => !isRunning,
  });
  useEffect(
    () => () => {
      memory.store.close();
    },
    [memory],
  );
  const isCut = ends.some((end) => end.offset > 0);
  return (
    <div className={`panel ${styles.log ?? ""}`}>
      {isCut && <Notice>{texts.endsOnly}</Notice>}
      {memory.store.total === 0 ? (
        <Empty icon="terminal" title={isRunning ? texts.nothingYet : texts.nothing} />
      ) : (
        <LogView
          store={memory.store}
          label={texts.allRanks}
          look={{ ...props.look, hasTimes: false }}
          isFollowing={isFollowing}
          onFollow={setIsFollowing}
          target={undefined}
          words={undefined}
        />
      )}
    </div>
  );
}
