import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { Job } from "@/api/jobs";
import { followAllAddress, logEnds, type LogChunk } from "@/api/logs";
import { useStream } from "@/api/stream";
import { Button } from "@/parts/Button";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { timeOfDay } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import { Gathered } from "./gathered";
import { interleave, linesOf, type RankEnd, type TimedLine } from "./interleaved";
import { LEVELS } from "./levels";
import { LogSearch } from "./LogSearch";
import { LogSource } from "./LogSource";
import styles from "./logs.module.css";
import { LogView } from "./LogView";
import { literal, markerOf } from "./search";

const MOST_RANKS = 64;
const FIRST_BYTES = 8 << 20; // of all ranks together
const MOST_BYTES = 64 << 20;
const MORE = 4;

/** The logs of all ranks as one, from their ends backwards. What is looked for is a filter here: other lines are left out. */
export function AllRanks(props: { job: Job; attempt: number; isRunning: boolean }) {
  const { job, attempt } = props;
  const navigate = useNavigate({ from: "/jobs/$id/logs" });
  const [numBytes, setNumBytes] = useState(FIRST_BYTES);
  const tasks = job.attempts.find((one) => one.number === attempt)?.tasks ?? [];
  const ranks = tasks.slice(0, MOST_RANKS).map((task) => ({
    rank: task.rank,
    bytes: task.log_bytes,
  }));
  const perRank = Math.floor(numBytes / Math.max(1, ranks.length));
  const found = useQuery({
    queryKey: ["all-ranks", job.id, attempt, perRank],
    queryFn: async ({ signal }) => {
      const ends = await logEnds(job.id, attempt, ranks, perRank, signal);
      return { ends, lines: interleave(ends), perRank };
    },
    staleTime: Infinity,
    gcTime: 0,
    placeholderData: keepPreviousData,
  });
  return (
    <div className={styles.tab}>
      <div className={styles.bar}>
        <LogSource job={job} attempt={attempt} rank={undefined} />
        <LogSearch
          find={(q, isRegex, level) => {
            const to = { q: q || undefined, regex: isRegex || undefined, level };
            void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
          }}
        />
      </div>
      {found.error ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !found.data ? (
        <Loading lines={8} />
      ) : (
        <Interleaved
          key={found.data.perRank}
          {...props}
          ends={found.data.ends}
          lines={found.data.lines}
          numHidden={tasks.length - ranks.length}
          isLoading={found.isPlaceholderData}
          onEarlier={
            numBytes < MOST_BYTES && found.data.ends.some((end) => end.offset > 0)
              ? () => {
                  setNumBytes(numBytes * MORE);
                }
              : undefined
          }
        />
      )}
    </div>
  );
}

function Interleaved(props: {
  job: Job;
  attempt: number;
  isRunning: boolean;
  ends: readonly RankEnd[];
  lines: readonly TimedLine[];
  numHidden: number;
  isLoading: boolean;
  /** Undefined when there is nothing earlier, or too much of it. */
  onEarlier: (() => void) | undefined;
}) {
  const { job, attempt, isRunning, ends } = props;
  const { log: texts } = useTexts();
  const locale = useLocale();
  const address = useSearch({ from: "/inside/jobs/$id/logs" });
  const pattern = address.level
    ? LEVELS[address.level]
    : address.regex
      ? address.q
      : address.q && literal(address.q);
  const words = useMemo(() => (pattern ? markerOf(pattern) : undefined), [pattern]);
  const [isFollowing, setIsFollowing] = useState(true);
  const [gathered] = useState(() => new Gathered(props.lines));
  const hasTimes = address.times ?? false;
  const memory = useMemo(() => {
    return gathered.show(pattern, hasTimes ? clockOf(locale) : undefined);
  }, [gathered, pattern, hasTimes, locale]);
  useSyncExternalStore(memory.store.subscribe, memory.store.getVersion);
  const [offsets] = useState(
    () => new Map(ends.map((end) => [end.rank, end.offset + end.bytes.length])),
  );
  useStream(isRunning ? "all-ranks" : undefined, {
    address: () => followAllAddress(job.id, attempt, offsets),
    onEvent: (event) => {
      if (event.name !== "log") return;
      const chunk = JSON.parse(event.data) as LogChunk;
      offsets.set(chunk.rank, chunk.next_offset);
      gathered.add(linesOf(chunk.rank, Date.now() / 1000, chunk.text));
    },
    isOver: () => !isRunning,
  });
  useEffect(
    () => () => {
      memory.store.close();
    },
    [memory],
  );
  const isEmpty = memory.store.total === 0;
  const nothing = pattern ? texts.noHit : isRunning ? texts.nothingYet : texts.nothing;
  return (
    <div className={`panel ${styles.log ?? ""}`}>
      {(ends.some((end) => end.offset > 0) || props.numHidden > 0) && (
        <div className={styles.earlier}>
          {ends.some((end) => end.offset > 0) && <span>{texts.endsOnly}</span>}
          {props.numHidden > 0 && <span>{texts.firstRanks(ends.length)}</span>}
          {props.onEarlier && (
            <Button isSmall isBusy={props.isLoading} onClick={props.onEarlier}>
              {texts.earlier}
            </Button>
          )}
        </div>
      )}
      {isEmpty ? (
        <Empty icon="terminal" title={nothing} />
      ) : (
        <LogView
          key={`${pattern ?? ""} ${String(hasTimes)}`}
          store={memory.store}
          label={texts.allRanks}
          look={{ isWrapped: address.wrap ?? false, hasTimes: false }}
          isFollowing={isFollowing}
          onFollow={setIsFollowing}
          target={undefined}
          words={words}
        />
      )}
      <div className={styles.foot}>
        <span>{texts.lines(isEmpty ? 0 : memory.store.numLines)}</span>
      </div>
    </div>
  );
}

/** Writes Unix times. Millions of lines have a few thousand different ones, and each takes long to write. */
function clockOf(locale: string): (at: number) => string {
  const written = new Map<number, string>();
  return (at) => {
    const known = written.get(at);
    if (known !== undefined) return known;
    const text = timeOfDay(at, locale);
    written.set(at, text);
    return text;
  };
}
