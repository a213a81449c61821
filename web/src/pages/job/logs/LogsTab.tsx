import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useMemo, useState, useSyncExternalStore } from "react";
import type { Job } from "@/api/jobs";
import { isOver } from "@/api/jobs";
import {
  countLines,
  downloadAddress,
  followAddress,
  readLog,
  type LogChunk,
  type LogSource,
} from "@/api/logs";
import { useStream } from "@/api/stream";
import { Button } from "@/parts/Button";
import { Empty, ProblemLine } from "@/parts/Empty";
import { Live } from "@/parts/Live";
import { useMessages } from "@/parts/Messages";
import { showBytes } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { useLoadedJob } from "../loaded";
import { AllRanks } from "./AllRanks";
import { download } from "./download";
import { HitList } from "./HitList";
import { LEVELS, type Level } from "./levels";
import { LogSearch } from "./LogSearch";
import { LogSource as SourcePicker } from "./LogSource";
import { LogView, type Target } from "./LogView";
import styles from "./logs.module.css";
import { literal, markerOf, useLogSearch, type Hit } from "./search";
import { LogStore } from "./store";
import { loadTerminal } from "./terminal";

/** The log of one rank in one attempt, or the ends of all. */
export function LogsTab() {
  const job = useLoadedJob();
  const { log: texts } = useTexts();
  const search = useSearch({ from: "/inside/jobs/$id/logs" });
  const number = search.attempt ?? job.attempt;
  const attempt = job.attempts.find((one) => one.number === number);
  const rank = search.rank ?? attempt?.first_failed_rank ?? 0;
  if (!attempt) {
    return (
      <div className="panel">
        <Empty icon="clock" title={texts.notStartedTitle}>
          <p>{texts.notStarted}</p>
        </Empty>
      </div>
    );
  }
  const task = attempt.tasks.find((one) => one.rank === rank);
  const isRunning = !isOver(job.state) && number === job.attempt;
  if (search.all) return <AllRanks key={number} job={job} attempt={number} isRunning={isRunning} />;
  return (
    <LogOfRank
      key={`${String(number)}:${String(rank)}`}
      job={job}
      source={{ job: job.id, attempt: number, rank }}
      known={task?.log_bytes ?? 0}
      isRunning={isRunning}
    />
  );
}

function LogOfRank(props: { job: Job; source: LogSource; known: number; isRunning: boolean }) {
  const { job, source, isRunning } = props;
  const { log: texts } = useTexts();
  const { say, complain } = useMessages();
  const address = useSearch({ from: "/inside/jobs/$id/logs" });
  const navigate = useNavigate({ from: "/jobs/$id/logs" });
  const store = useLogStore(source, props.known);
  const isSearching = address.q !== undefined || address.level !== undefined;
  const [isFollowing, setIsFollowing] = useState(
    isRunning && !isSearching && address.line === undefined,
  );
  const [target, setTarget] = useState<Target | undefined>(
    address.line === undefined ? undefined : { line: address.line - 1, at: 0 },
  );
  const [chosen, setChosen] = useState<Hit>();
  const { search, run, clear } = useLogSearch(source);
  const stream = useStream(isRunning ? "log" : undefined, {
    address: () => followAddress(source, store.total),
    onEvent: (event) => {
      if (event.name !== "log") return;
      const chunk = JSON.parse(event.data) as LogChunk;
      store.grow(chunk.offset, chunk.next_offset, new TextEncoder().encode(chunk.text));
    },
    isOver: () => !isRunning,
  });
  const isCounted = store.isCounted;

  const goTo = (hit: Hit | undefined) => {
    if (!hit) return;
    setIsFollowing(false);
    setChosen(hit);
    setTarget({ line: hit.line, at: Date.now() });
  };
  const pattern = address.level
    ? LEVELS[address.level]
    : address.regex
      ? address.q
      : address.q && literal(address.q);
  const change = (to: Partial<typeof address>) => {
    void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
  };
  const find = (q: string, isRegex: boolean, level?: Level) => {
    change({ q: q || undefined, regex: isRegex || undefined, level });
    if (level) void run(LEVELS[level]);
    else if (q) void run(isRegex ? q : literal(q)).then((hits) => goTo(hits?.[0]));
    else clear();
  };
  const begin = useEffectEvent(() => {
    if (!pattern) return;
    void run(pattern).then((hits) => (address.level ? undefined : goTo(hits?.[0])));
  });
  useEffect(() => {
    begin(); // a link that has a search in it
  }, []);
  const firstError = async () => {
    const hits = await run(LEVELS.error, 1);
    clear();
    if (hits?.[0]) goTo(hits[0]);
    else if (hits) say(texts.noError);
  };
  const words = useMemo(() => (pattern ? markerOf(pattern) : undefined), [pattern]);
  const look = { isWrapped: address.wrap ?? false, hasTimes: address.times ?? false };
  return (
    <div className={styles.tab}>
      <div className={styles.bar}>
        <SourcePicker job={job} attempt={source.attempt} rank={source.rank} />
        <LogSearch find={find} />
        <Button icon="warning" onClick={() => void firstError()}>
          {texts.firstError}
        </Button>
        <Button
          icon="toEnd"
          aria-pressed={isFollowing}
          onClick={() => {
            setIsFollowing(isRunning);
            setTarget({ line: Math.max(0, store.numLines - 1), at: Date.now() });
          }}
        >
          {isRunning ? texts.follow : texts.toEnd}
        </Button>
        <Button
          icon="download"
          onClick={() => {
            void download(
              (offset, limit) => downloadAddress(source, offset, limit),
              `${job.name}-${job.id}-attempt${String(source.attempt)}-rank${String(source.rank)}.log`,
              store.total,
            ).catch(complain);
          }}
        >
          {texts.download}
        </Button>
        {isRunning && <Live state={stream} />}
      </div>
      {store.problem !== undefined && (
        <ProblemLine about={texts.missing} error={store.problem} onRetry={store.retry} />
      )}
      {search.problem && (
        <ProblemLine
          error={search.problem}
          onRetry={() => {
            find(address.q ?? "", address.regex ?? false, address.level);
          }}
        />
      )}
      {isSearching && !search.problem && (
        <HitList search={search} total={store.total} chosen={chosen} onChoose={goTo} />
      )}
      <div className={`panel ${styles.log ?? ""}`}>
        {store.total === 0 ? (
          <Empty icon="terminal" title={isRunning ? texts.nothingYet : texts.nothing} />
        ) : (
          <LogView
            store={store}
            label={texts.label(source.rank)}
            look={look}
            isFollowing={isFollowing}
            onFollow={setIsFollowing}
            target={target}
            words={words}
            onNumber={(line) => {
              setTarget({ line, at: Date.now() });
              change({ line: line + 1 });
            }}
          />
        )}
        <div className={styles.foot}>
          <span>{showBytes(store.total)}</span>
          <span>{isCounted ? texts.lines(store.numLines) : texts.aboutLines(store.numLines)}</span>
        </div>
      </div>
    </div>
  );
}

/** A log that is here in pieces, with the server's count of its lines. */
function useLogStore(source: LogSource, known: number): LogStore {
  const { complain } = useMessages();
  const [store] = useState(
    () => new LogStore((offset, size, signal) => readLog(source, offset, size, signal), known),
  );
  useEffect(() => {
    store.grow(store.total, known);
  }, [store, known]);
  const fail = useEffectEvent(complain);
  const { job, attempt, rank } = source;
  useEffect(() => {
    const controller = new AbortController();
    void loadTerminal().catch(() => undefined); // whoever needs it tells what is wrong
    store.beginCounting();
    // the last line is counted where it can be seen whether it has ended; many look there first
    void store.find(store.total);
    const count = async () => {
      for await (const lines of countLines({ job, attempt, rank }, 0, controller.signal))
        store.tell(lines.offset, lines.rows, lines.marks);
      store.endCounting();
    };
    count().catch((error: unknown) => {
      if (controller.signal.aborted) return;
      store.endCounting();
      fail(error);
    });
    return () => {
      controller.abort();
      store.close();
    };
  }, [store, job, attempt, rank]);
  useSyncExternalStore(store.subscribe, store.getVersion);
  return store;
}
