import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ok } from "@/api/client";
import type { RunSummary } from "@/api/runs";
import { useProject } from "@/frame/ProjectPicker";
import { Found } from "@/parts/Found";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import styles from "./overview.module.css";

const SHOWN = 6;

export function RunsPanel() {
  const { overview: texts } = useTexts();
  const project = useProject();
  const found = useQuery({
    queryKey: ["runs", "recent"],
    queryFn: () => ok(api.GET("/api/v1/runs", { params: { query: { limit: 20 } } })),
  });
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.runs}</h2>
      </div>
      <Found of={found} lines={3}>
        {({ items }) => (
          <RunLines
            runs={items
              .filter((run) => project === undefined || run.project === project)
              .slice(0, SHOWN)}
          />
        )}
      </Found>
    </section>
  );
}

function RunLines(props: { runs: readonly RunSummary[] }) {
  const { overview: texts } = useTexts();
  if (!props.runs.length) return <p className="panel-body muted">{texts.noRuns}</p>;
  return (
    <ul className={styles.runs}>
      {props.runs.map((run) => (
        <li key={run.id}>
          <Link to="/experiments/$id" params={{ id: run.id }} className="row-name wrap">
            {run.name}
          </Link>
          <span className="muted small">
            <Ago at={run.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
