// Jobs: one list in the cache per filter, kept current by a stream.
import { queryOptions, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { useEffect, useRef } from "react";
import { useChanges, type Changes } from "./changes";
import { spoken, told } from "@/texts/told";
import { addressOf, api, ok, type Schemas } from "./client";
import { allPages, useRest, type Paged } from "./pages";
import { useStream, type StreamState } from "./stream";

export type Job = Schemas["JobOut"];
export type JobSummary = Schemas["JobSummary"];
export type JobState = Schemas["JobState"];
export type JobList = Paged<JobSummary>;

const FIRST_PAGE = 200;
const PAGE = 1000;
const MOST_JOBS = 20_000;

export const OPEN_STATES: readonly JobState[] = [
  "queued",
  "starting",
  "running",
  "stopping",
  "paused",
];
export const END_STATES: readonly JobState[] = ["succeeded", "failed", "stopped"];
export const JOB_STATES: readonly JobState[] = [...OPEN_STATES, ...END_STATES];

export function isOver(state: JobState): boolean {
  return END_STATES.includes(state);
}

/** What the tasks of an attempt used; of attempt 0, which there is not, that there is nothing. */
export function resourcesQuery(job: string, attempt: number) {
  return queryOptions({
    queryKey: ["resources", job, attempt],
    queryFn: () =>
      ok(
        api.GET("/api/v1/jobs/{job}/usage", {
          params: { path: { job }, query: { attempt: attempt || undefined } },
        }),
      ),
  });
}

function fetchJobs(states: readonly JobState[], limit: number, cursor?: string) {
  const query = { limit, cursor, state: states.length ? [...states] : undefined };
  return ok(api.GET("/api/v1/jobs", { params: { query } }));
}

export function jobsQuery(states: readonly JobState[] = []) {
  return queryOptions({
    queryKey: ["jobs", [...states].sort()],
    queryFn: async (): Promise<JobList> => {
      const page = await fetchJobs(states, FIRST_PAGE);
      return { items: page.items, next: page.next ?? null };
    },
    staleTime: Infinity, // the stream keeps it current
  });
}

/** Jobs newest first: the first page at once, the others behind it. */
export function useJobs(states: readonly JobState[] = []) {
  const options = jobsQuery(states);
  const found = useQuery(options);
  const rest = useRest({
    queryKey: options.queryKey,
    list: found.data,
    most: MOST_JOBS,
    fetchPage: (cursor) => fetchJobs(states, PAGE, cursor),
  });
  return { ...found, rest };
}

/** Keep all lists of jobs current while this is shown. */
export function useJobChanges(): StreamState {
  const client = useQueryClient();
  const hasBroken = useRef(false);
  useEffect(
    () => () => {
      // nobody listened from here on
      client.removeQueries({ queryKey: ["jobs"], type: "inactive" });
    },
    [client],
  );
  return useChanges<JobSummary>("changes", {
    address: () => addressOf("/api/v1/changes", {}, { follow: true }),
    event: "job",
    apply: (changes) => {
      applyChanges(client, changes);
    },
    onState: (state) => {
      if (state === "broken") hasBroken.current = true;
      if (state === "live" && hasBroken.current) {
        hasBroken.current = false;
        void client.invalidateQueries({ queryKey: ["jobs"] });
      }
    },
  });
}

function applyChanges(client: QueryClient, changes: Changes<JobSummary>): void {
  for (const query of client.getQueryCache().findAll({ queryKey: ["jobs"] })) {
    const states = query.queryKey[1] as JobState[];
    client.setQueryData<JobList>(query.queryKey, (before) =>
      before ? { ...before, items: changed(before.items, changes, states) } : before,
    );
  }
}

/** The rows after some changes: in place, new ones where their ids belong (newest first), others gone. */
export function changed(
  rows: readonly JobSummary[],
  changes: Changes<JobSummary>,
  states: readonly JobState[],
): JobSummary[] {
  const fits = (job: JobSummary) => !states.length || states.includes(job.state);
  const left = new Map(changes);
  const kept: JobSummary[] = [];
  for (const row of rows) {
    const change = left.get(row.id);
    left.delete(row.id);
    if (change === undefined) kept.push(row);
    else if (change !== null && fits(change)) kept.push(change);
  }
  const fresh = [...left.values()].filter((job): job is JobSummary => job !== null && fits(job));
  if (!fresh.length) return kept;
  return [...fresh, ...kept].sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function jobQuery(id: string) {
  return queryOptions({
    queryKey: ["job", id],
    queryFn: () => ok(api.GET("/api/v1/jobs/{job}", { params: { path: { job: id } } })),
    staleTime: Infinity,
  });
}

/** One job, kept current by its own stream until it is over. */
export function useJob(id: string) {
  const client = useQueryClient();
  const options = jobQuery(id);
  const found = useQuery(options);
  const isDone = found.data !== undefined && isOver(found.data.state);
  const state = useStream(found.data && !isDone ? id : undefined, {
    address: () => addressOf("/api/v1/jobs/{job}/watch", { job: id }),
    onEvent: (event) => {
      if (event.name === "job")
        client.setQueryData(options.queryKey, JSON.parse(event.data) as Job);
    },
    isOver: () => {
      const job = client.getQueryData(options.queryKey);
      return job !== undefined && isOver(job.state);
    },
  });
  return { ...found, stream: isDone ? ("over" as const) : state };
}

/** All that is known about why a job waits. `told` is the reason as it is now: a new one asks anew. */
export function whyQuery(id: string, told: string) {
  return queryOptions({
    queryKey: ["why", id, told],
    queryFn: () => ok(api.GET("/api/v1/jobs/{job}/why", { params: { path: { job: id } } })),
  });
}

/** The catalogue of reasons. */
export const reasonsQuery = queryOptions({
  queryKey: ["reasons"],
  queryFn: () => ok(api.GET("/api/v1/reasons")),
  staleTime: Infinity,
});

export function eventsQuery(job: Job) {
  return queryOptions({
    // what happens to a job changes one of these
    queryKey: ["events", job.id, job.state, job.attempt, job.reason.message, job.desired],
    queryFn: () =>
      allPages((cursor) =>
        ok(
          api.GET("/api/v1/jobs/{job}/events", {
            params: { path: { job: job.id }, query: { limit: PAGE, cursor } },
          }),
        ),
      ),
    placeholderData: (before: Schemas["EventOut"][] | undefined) => before,
  });
}

export function useStopJobs() {
  return useMutation({
    mutationFn: (jobs: string[]) => ok(api.POST("/api/v1/jobs/stop", { body: { jobs } })),
  });
}

/** Why some of several jobs were left as they are, in the reader's language. */
export function whyRefused({ refused = {}, refused_said = {} }: Schemas["SelectedOut"]): string[] {
  return Object.entries(refused).map(([job, why]) => told(spoken(), refused_said[job], why));
}

export function useDeleteJobs() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (jobs: string[]) => ok(api.POST("/api/v1/jobs/delete", { body: { jobs } })),
    onSuccess: ({ done }) => {
      applyChanges(client, new Map(done.map((id) => [id, null])));
    },
  });
}
