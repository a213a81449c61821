import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { mainOf, reportQuery, type BenchRun, type Measured, type Report } from "@/api/bench";
import { Loading, Notice, Problem } from "@/parts/Empty";
import { Facts } from "@/parts/Facts";
import { highestOf, showNumber } from "@/parts/numbers";
import { own } from "@/parts/own";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { Meter } from "../overview/Meter";
import styles from "./bench.module.css";

const LOOKS: Record<Report["verdict"], string> = {
  passed: "ok",
  failed: "bad",
  stopped: "",
  unfinished: "wait",
};

export function VerdictBadge(props: { verdict: Report["verdict"] }) {
  const { bench: texts } = useTexts();
  return <span className={`badge ${LOOKS[props.verdict]}`}>{texts.verdicts[props.verdict]}</span>;
}

/** What came of a run: what is wrong with it, the numbers of each rank, and how it scales. */
export function RunReport(props: { run: BenchRun }) {
  const { run } = props;
  const { bench: texts, messages } = useTexts();
  const { data: report, error, refetch } = useQuery(reportQuery(run));
  return (
    <section className="panel" aria-label={run.id}>
      <div className="panel-head">
        <h2 className="wrap">{`${run.suite}: ${run.id}`}</h2>
        {report && <VerdictBadge verdict={report.verdict} />}
      </div>
      <div className={`panel-body ${styles.report ?? ""}`}>
        <p>
          {texts.jobs}
          {messages.of}
          {run.jobs.map((job) => (
            <Link key={job.id} to="/jobs/$id" params={{ id: job.id }} className={styles.job}>
              {job.id}
            </Link>
          ))}
        </p>
        {error ? (
          <Problem error={error} onRetry={() => void refetch()} />
        ) : report === undefined ? (
          <Loading />
        ) : report === null ? (
          <p className="muted">{texts.howToCollect(run.id)}</p>
        ) : (
          <Results report={report} />
        )}
      </div>
    </section>
  );
}

function Results(props: { report: Report }) {
  const { report } = props;
  const { bench: texts, messages } = useTexts();
  const main = mainOf(report);
  const modes: Record<string, string> = texts.modes;
  return (
    <>
      {report.problems.length > 0 && (
        <Notice kind="bad" icon="warning">
          <ul aria-label={texts.problems}>
            {report.problems.map((problem, at) => (
              <li key={problem} className="wrap">
                {told(messages, report.problems_said?.[at], problem)}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <Facts
        items={[
          [texts.mode, own(modes, report.mode) ?? report.mode],
          main && [main.name, `${showNumber(main.value)} ${main.unit}`],
          main && [texts.spread, percent(main.spread)],
          main?.slowest && [texts.slowest, `${String(main.slowest.server)} (${main.slowest.node})`],
          ...report.scaling.map(
            (one) => [`${texts.scaling}, ${String(one.nodes)}`, percent(one.efficiency)] as const,
          ),
        ]}
      />
      {main && <Ranks name={main.name} measured={main} />}
    </>
  );
}

function Ranks(props: { name: string; measured: Measured }) {
  const { bench: texts } = useTexts();
  const { measured } = props;
  const rows = Object.entries(measured.ranks);
  const most = highestOf(rows.map(([, value]) => value));
  return (
    <div>
      <h3>{texts.ofRanks(props.name)}</h3>
      {rows.map(([rank, value]) => (
        <Meter
          key={rank}
          name={
            measured.outliers.includes(Number(rank))
              ? `${texts.rank(rank)}, ${texts.outlier}`
              : texts.rank(rank)
          }
          told={`${showNumber(value)} ${measured.unit}`}
          part={most > 0 ? value / most : 0}
        />
      ))}
    </div>
  );
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
