import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { readOutput, type Run } from "@/api/runs";
import { Loading, Problem } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { LogView } from "../job/logs/LogView";
import { LogStore } from "../job/logs/store";
import styles from "./run.module.css";

/** What each process printed. */
export function Output(props: { run: Run }) {
  const { runs: texts } = useTexts();
  const journals = (props.run.journals ?? []).filter((journal) => journal.output_bytes > 0);
  const found = useQueries({
    queries: journals.map((journal) => ({
      queryKey: ["output", props.run.id, journal.name, journal.output_bytes],
      queryFn: () => readOutput(props.run.id, journal.name),
      staleTime: Infinity,
    })),
  });
  if (!journals.length) return <p className="muted">{texts.noOutput}</p>;
  return journals.map((journal, index) => {
    const { data, error, refetch } = found[index] ?? {};
    return (
      <section key={journal.name} className="panel">
        <div className="panel-head">
          <h2>{texts.outputOf(journal.branch)}</h2>
        </div>
        {error ? (
          <Problem error={error} onRetry={() => void refetch?.()} />
        ) : data === undefined ? (
          <Loading />
        ) : (
          <Printed key={journal.output_bytes} text={data} label={texts.outputOf(journal.branch)} />
        )}
      </section>
    );
  });
}

/** As a terminal would show it, its end first. */
function Printed(props: { text: string; label: string }) {
  const [isFollowing, setIsFollowing] = useState(true);
  const [store] = useState(() => {
    const bytes = new TextEncoder().encode(props.text);
    return new LogStore(
      (offset, size) => Promise.resolve(bytes.slice(offset, offset + size)),
      bytes.length,
    );
  });
  return (
    <div className={styles.output}>
      <LogView
        store={store}
        label={props.label}
        isFollowing={isFollowing}
        onFollow={setIsFollowing}
        target={undefined}
        words={undefined}
      />
    </div>
  );
}
