import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ok } from "@/api/client";
import { useProject } from "@/frame/ProjectPicker";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import styles from "./overview.module.css";

const SHOWN = 6;

export function RunsPanel() {
  const { overview: texts } = useTexts();
  const project = useProject();
  const { data } = useQuery({
    queryKey: ["runs", "recent"],
    queryFn: () => ok(api.GET("/api/v1/runs", { params: { query: { limit: 20 } } })),
  });
  const runs = (data?.items ?? [])
    .filter((run) => project === undefined || run.project === project)
    .slice(0, SHOWN);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.runs}</h2>
      </div>
      {runs.length ? (
        <ul className={styles.runs}>
          {runs.map((run) => (
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
      ) : (
        <p className="panel-body muted">{texts.noRuns}</p>
      )}
    </section>
  );
}
