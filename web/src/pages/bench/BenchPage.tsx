import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { benchRunsQuery, mainOf, reportQuery, type BenchRun } from "@/api/bench";
import { DataTable, type Column } from "@/parts/DataTable";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { showNumber } from "@/parts/numbers";
import { StateBadge } from "@/parts/StateBadge";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { RunReport, VerdictBadge } from "./RunReport";

export function BenchPage() {
  const { bench: texts } = useTexts();
  const { run: chosen } = useSearch({ from: "/inside/bench" });
  const { data: runs, error, refetch } = useQuery(benchRunsQuery);
  const shown = runs?.find((run) => run.id === chosen);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <span className="muted">{texts.text}</span>
      </div>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !runs ? (
        <Loading />
      ) : (
        <section className="panel">
          {runs.length ? (
            <Runs runs={runs} />
          ) : (
            <Empty icon="chart" title={texts.none}>
              <p>{texts.noneText}</p>
            </Empty>
          )}
        </section>
      )}
      {shown && <RunReport key={shown.id} run={shown} />}
    </div>
  );
}

function Runs(props: { runs: readonly BenchRun[] }) {
  const { bench: texts } = useTexts();
  const columns: Column<BenchRun>[] = [
    {
      id: "run",
      title: texts.run,
      cell: (run) => (
        <Link to="/bench" search={{ run: run.id }} className="mono">
          {run.id}
        </Link>
      ),
    },
    { id: "suite", title: texts.suite, cell: (run) => run.suite },
    {
      id: "nodes",
      title: texts.nodes,
      isEnd: true,
      cell: (run) => run.jobs.map((job) => job.nodes).join(", "),
    },
    { id: "state", title: texts.state, cell: (run) => <States run={run} /> },
    { id: "result", title: texts.result, cell: (run) => <Result run={run} /> },
    {
      id: "started",
      title: texts.started,
      isEnd: true,
      cell: (run) => <Ago at={run.jobs[0]?.created_at} />,
    },
  ];
  return (
    <DataTable
      label={texts.title}
      rows={[...props.runs]}
      columns={columns}
      rowId={(run) => run.id}
      maxHeight="26rem"
    />
  );
}

function States(props: { run: BenchRun }) {
  const states = [...new Set(props.run.jobs.map((job) => job.state))];
  return states.map((state) => <StateBadge key={state} state={state} />);
}

function Result(props: { run: BenchRun }) {
  const { bench: texts } = useTexts();
  const { data: report } = useQuery(reportQuery(props.run));
  if (report === undefined) return "…";
  if (report === null) return <span className="muted">{texts.notCollected}</span>;
  const main = mainOf(report);
  return (
    <span>
      <VerdictBadge verdict={report.verdict} />{" "}
      {main && <span className="number">{`${showNumber(main.value)} ${main.unit}`}</span>}
    </span>
  );
}
