import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState, useSyncExternalStore, type FormEvent } from "react";
import type { Job } from "@/api/jobs";
import { isOver } from "@/api/jobs";
import { downloadAddress, followAddress, readLog, type LogChunk, type LogSource } from "@/api/logs";
import { useStream } from "@/api/stream";
import { Button } from "@/parts/Button";
import { Empty, ProblemLine } from "@/parts/Empty";
import { CheckField, SearchField } from "@/parts/Field";
import { Live } from "@/parts/Live";
import { useMessages } from "@/parts/Messages";
import { showBytes } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { AttemptPicker } from "../AttemptPicker";
import { useLoadedJob } from "../loaded";
import { download } from "./download";
import { HitList } from "./HitList";
import { LogView, type Target } from "./LogView";
import styles from "./logs.module.css";
import { ERRORS, literal, markerOf, useLogSearch, type Hit } from "./search";
import { LogStore } from "./store";

/** The log of one rank in one attempt. */
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
  const [store] = useState(
    () =>
      new LogStore((offset, size, signal) => readLog(source, offset, size, signal), props.known),
  );
  useEffect(() => {
    store.grow(store.total, props.known);
  }, [store, props.known]);
  useEffect(
    () => () => {
      store.close();
    },
    [store],
  );
  useSyncExternalStore(store.subscribe, store.getVersion);
  const [isFollowing, setIsFollowing] = useState(isRunning && address.q === undefined);
  const [target, setTarget] = useState<Target>();
  const [chosen, setChosen] = useState<Hit>();
  const [typed, setTyped] = useState(address.q ?? "");
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

  const goTo = async (hit: Hit | undefined) => {
    if (!hit) return;
    setIsFollowing(false);
    setChosen(hit);
    const line =
      (await store.findText(hit.from, hit.to, hit.text, hit.nth)) ?? (await store.find(hit.from));
    setTarget({ line, at: Date.now() });
  };
  const pattern = address.regex ? address.q : address.q && literal(address.q);
  const find = (q: string, isRegex: boolean) => {
    void navigate({
      search: (before) => ({ ...before, q: q || undefined, regex: isRegex || undefined }),
      replace: true,
    });
    if (!q) {
      clear();
      return;
    }
    void run(isRegex ? q : literal(q)).then((hits) => goTo(hits?.[0]));
  };
  useEffect(() => {
    if (pattern) void run(pattern).then((hits) => goTo(hits?.[0]));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, for a link that has a search in it
  }, []);
  const firstError = async () => {
    const hits = await run(ERRORS, 1);
    if (hits?.[0]) await goTo(hits[0]);
    else if (hits) say(texts.noError);
  };
  const words = useMemo(() => (pattern ? markerOf(pattern) : undefined), [pattern]);
  const attempt = job.attempts.find((one) => one.number === source.attempt);

  return (
    <div className={styles.tab}>
      <div className={styles.bar}>
        <AttemptPicker
          job={job}
          value={source.attempt}
          onChange={(attempt) => {
            void navigate({ search: (before) => ({ ...before, attempt, rank: undefined }) });
          }}
        />
        {(attempt?.tasks.length ?? 0) > 1 && (
          <select
            className="input fit"
            aria-label={texts.rank}
            value={source.rank}
            onChange={(event) => {
              const rank = Number(event.target.value);
              void navigate({ search: (before) => ({ ...before, rank }) });
            }}
          >
            {attempt?.tasks.map((one) => (
              <option key={one.rank} value={one.rank}>
                {texts.rankNumber(one.rank, one.role)}
                {one.rank === attempt.first_failed_rank ? ` · ${texts.failedFirst}` : ""}
              </option>
            ))}
          </select>
        )}
        <form
          role="search"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            find(typed, address.regex ?? false);
          }}
        >
          <SearchField
            label={texts.search}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              if (!event.target.value) find("", false);
            }}
          />
          <Button type="submit" isBusy={search.isRunning}>
            {texts.find}
          </Button>
        </form>
        <CheckField
          label={texts.regex}
          checked={address.regex ?? false}
          onChange={(event) => {
            find(typed, event.target.checked);
          }}
        />
        <Button icon="warning" onClick={() => void firstError()}>
          {texts.firstError}
        </Button>
        <Button
          icon="toEnd"
          aria-pressed={isFollowing}
          onClick={() => {
            setIsFollowing(isRunning);
            setTarget({ line: store.numLines, at: Date.now() });
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
            find(typed, address.regex ?? false);
          }}
        />
      )}
      {address.q && !search.problem && (
        <HitList
          search={search}
          total={store.total}
          chosen={chosen}
          onChoose={(hit) => void goTo(hit)}
        />
      )}
      <div className={`panel ${styles.log ?? ""}`}>
        {store.total === 0 ? (
          <Empty icon="terminal" title={isRunning ? texts.nothingYet : texts.nothing} />
        ) : (
          <LogView
            store={store}
            label={texts.label(source.rank)}
            isFollowing={isFollowing}
            onFollow={setIsFollowing}
            target={target}
            words={words}
          />
        )}
        <div className={styles.foot}>
          <span>{showBytes(store.total)}</span>
          <span>
            {store.isCounted(store.numPieces)
              ? texts.lines(store.numLines)
              : texts.aboutLines(store.numLines)}
          </span>
        </div>
      </div>
    </div>
  );
}
