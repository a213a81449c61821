// Runs of benchmarks: jobs with a tag, and the report that whoever collected a run left beside its results.
import { queryOptions } from "@tanstack/react-query";
import { api, fetched, ok, type Schemas } from "./client";
import type { JobSummary } from "./jobs";
import { objectAddress } from "./store";

const MOST_JOBS = 200;

export type BenchRun = { id: string; suite: string; jobs: JobSummary[] };

export type Measured = {
  unit: string;
  value: number;
  ranks: Record<string, number>;
  outliers: number[];
  spread: number;
  slowest: { server: number; node: string; value: number } | null;
};

export type Report = {
  run: string;
  verdict: "passed" | "failed" | "stopped" | "unfinished";
  mode: string;
  problems: string[];
  /** The same with their codes and parameters; older reports have none. */
  problems_said?: Schemas["Message"][];
  jobs: { job: { id: string; nodes: number }; measures: Record<string, Measured> }[];
  scaling: { nodes: number; value: number; efficiency: number }[];
};

export const benchRunsQuery = queryOptions({
  queryKey: ["bench"],
  queryFn: async (): Promise<BenchRun[]> => {
    const query = { tag: ["kind=bench"], limit: MOST_JOBS };
    return runsOf((await ok(api.GET("/api/v1/jobs", { params: { query } }))).items);
  },
  refetchInterval: 10_000,
});

/** Jobs by the run that they are part of, in the order of the list; the largest job of each comes last. */
export function runsOf(jobs: readonly JobSummary[]): BenchRun[] {
  const found = new Map<string, BenchRun>();
  for (const job of jobs) {
    const id = job.tags?.["bench-run"];
    if (id === undefined) continue;
    const run = found.get(id) ?? { id, suite: job.tags?.bench ?? "", jobs: [] };
    found.set(id, { ...run, jobs: [...run.jobs, job].sort((a, b) => a.nodes - b.nodes) });
  }
  return [...found.values()];
}

/** The report of a run, which is kept with its smallest job; null: nobody has collected it yet. */
export function reportQuery(run: BenchRun) {
  const job = run.jobs[0]?.id ?? "";
  return queryOptions({
    queryKey: ["bench", run.id, "report"],
    enabled: job !== "",
    queryFn: async (): Promise<Report | null> => {
      const { output } = await ok(api.GET("/api/v1/jobs/{job}", { params: { path: { job } } }));
      const [, bucket = "", folder = ""] = /^store:\/\/([^/]+)\/(.*)$/.exec(output) ?? [];
      const answered = await fetched(
        objectAddress(bucket, `${folder}bench/report.json`),
        {},
        [404],
      );
      return answered.status === 404 ? null : ((await answered.json()) as Report);
    },
  });
}

/** What a report is about: the first measure of its largest job. */
export function mainOf(report: Report): (Measured & { name: string }) | undefined {
  const [found] = Object.entries(report.jobs.at(-1)?.measures ?? {});
  return found && { ...found[1], name: found[0] };
}
