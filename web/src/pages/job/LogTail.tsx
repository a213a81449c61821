import { Link } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import { isOver, type Job } from "@/api/jobs";
import { tailAddress, type LogChunk } from "@/api/logs";
import { useStream } from "@/api/stream";
import { buttonClass } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import styles from "./job.module.css";
import { LINE_PX, LogView } from "./logs/LogView";
import { Memory } from "./logs/memory";

const MOST_LINES = 11;

/** The last lines of rank 0, live while the job runs. Of a failed job the page shows those of the rank that failed. */
export function LogTail(props: { job: Job }) {
  const { job } = props;
  const attempt = job.attempts.at(-1);
  if (!attempt || job.state === "queued") return null;
  if (job.state === "failed" && attempt.last_lines.length) return null;
  if (isOver(job.state) && !attempt.tasks[0]?.log_bytes) return null;
  return <Tail key={job.attempt} job={job} />;
}

function Tail(props: { job: Job }) {
  const { job } = props;
  const { job: texts } = useTexts();
  const [memory] = useState(() => new Memory(""));
  const { store } = memory;
  useSyncExternalStore(store.subscribe, store.getVersion);
  const shownLines = isOver(job.state) ? Math.min(store.numLines, MOST_LINES) : MOST_LINES;
  const [isFollowing, setIsFollowing] = useState(true);
  useStream("tail", {
    address: () => tailAddress({ job: job.id, attempt: job.attempt, rank: 0 }),
    onEvent: (event) => {
      if (event.name === "log") memory.add((JSON.parse(event.data) as LogChunk).text);
    },
    isOver: () => isOver(job.state),
  });
  useEffect(
    () => () => {
      store.close();
    },
    [store],
  );
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.logTail}</h2>
        <Link
          to="/jobs/$id/logs"
          params={{ id: job.id }}
          className={buttonClass("normal", { isSmall: true })}
        >
          <Icon name="terminal" />
          {texts.toLog}
        </Link>
      </div>
      {store.total === 0 ? (
        <p className="panel-body muted">{texts.noOutputYet}</p>
      ) : (
        <div className={styles.tail} style={{ height: shownLines * LINE_PX }}>
          <LogView
            store={store}
            label={texts.logTail}
            isFollowing={isFollowing}
            onFollow={setIsFollowing}
            target={undefined}
            words={undefined}
          />
        </div>
      )}
    </section>
  );
}
