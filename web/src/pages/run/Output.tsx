import { useQueries } from "@tanstack/react-query";
import { readOutput, type Run } from "@/api/runs";
import { Loading, Problem } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import styles from "./run.module.css";

const MOST_CHARS = 200_000;

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
          {(data?.length ?? 0) > MOST_CHARS && <span className="muted">{texts.outputCut}</span>}
        </div>
        {error ? (
          <Problem error={error} onRetry={() => void refetch?.()} />
        ) : data === undefined ? (
          <Loading />
        ) : (
          <pre
            className={`code ${styles.output ?? ""}`}
            tabIndex={0}
            role="region"
            aria-label={texts.outputOf(journal.branch)}
          >
            {data.slice(-MOST_CHARS)}
          </pre>
        )}
      </section>
    );
  });
}
