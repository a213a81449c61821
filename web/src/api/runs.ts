// Runs: lists page by page, one run live, and the points of many.
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { useChanges, type Changes } from "./changes";
import { addressOf, api, fetched, ok, type Schemas } from "./client";
import { allPages, useRest, type Paged } from "./pages";
import { useStream, type StreamState } from "./stream";

export type Run = Schemas["RunOut"];
export type RunSummary = Schemas["RunSummary"];
export type RunState = Schemas["RunState"];
export type Metric = Schemas["MetricOut"];
export type SeriesPoints = Schemas["SeriesPoints"];
export type Folder = Schemas["FolderOut"];
export type Media = Schemas["MediaOut"];
export type Axis = Schemas["Axis"];
export const AXES: readonly Axis[] = ["step", "epoch", "time", "own"];

export type RunsWanted = { filter?: string; folder?: string; deleted?: boolean; job?: string };
type RunList = Paged<RunSummary>;

const FIRST_PAGE = 100;
const PAGE = 1000;
const MOST_RUNS = 20_000;

function fetchRuns(wanted: RunsWanted, limit: number, cursor?: string) {
  return ok(api.GET("/api/v1/runs", { params: { query: { ...wanted, limit, cursor } } }));
}

export function runsQuery(wanted: RunsWanted = {}) {
  return queryOptions({
    queryKey: ["runs", wanted],
    queryFn: async (): Promise<RunList> => {
      const page = await fetchRuns(wanted, FIRST_PAGE);
      return { items: page.items, next: page.next ?? null };
    },
  });
}

/** Runs newest first: the first page at once, the others behind it. */
export function useRuns(wanted: RunsWanted = {}, { isEnabled = true } = {}) {
  const options = runsQuery(wanted);
  const found = useQuery({ ...options, enabled: isEnabled, placeholderData: keepPreviousData });
  const rest = useRest({
    queryKey: options.queryKey,
    list: found.isPlaceholderData ? undefined : found.data,
    most: MOST_RUNS,
    fetchPage: (cursor) => fetchRuns(wanted, PAGE, cursor),
  });
  const stream = useRunChanges(wanted, found.data !== undefined && !found.isPlaceholderData);
  return { ...found, stream, rest };
}

/** Keep a list of runs current: what runs, and the newest ones. The others are not fetched again. */
function useRunChanges(wanted: RunsWanted, isEnabled: boolean): StreamState {
  const client = useQueryClient();
  return useChanges<RunSummary>(isEnabled ? JSON.stringify(wanted) : undefined, {
    address: () => addressOf("/api/v1/runs/changes", {}, { ...wanted, follow: true }),
    event: "run",
    apply: (changes) => {
      client.setQueryData<RunList>(runsQuery(wanted).queryKey, (before) =>
        before ? withChanges(before, changes) : before,
      );
    },
  });
}

/** Known runs are replaced where they stand or leave, new ones come where their age belongs. What has not changed stays
 * the same object. */
export function withChanges(before: RunList, changes: Changes<RunSummary>): RunList {
  const news = new Map(changes);
  let isChanged = false;
  const items = before.items.flatMap((run) => {
    const now = news.get(run.id);
    news.delete(run.id);
    if (now === undefined || JSON.stringify(now) === JSON.stringify(run)) return [run];
    isChanged = true;
    return now === null ? [] : [now];
  });
  const oldest = before.items.at(-1)?.created_at ?? "";
  for (const run of [...news.values()].reverse()) {
    // older than all of the list that is here: it comes with its page
    if (run === null || (before.next !== null && run.created_at < oldest)) continue;
    const at = items.findIndex((other) => other.created_at <= run.created_at);
    items.splice(at < 0 ? items.length : at, 0, run);
    isChanged = true;
  }
  return isChanged ? { ...before, items } : before;
}

export function runQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id],
    queryFn: () => ok(api.GET("/api/v1/runs/{run}", { params: { path: { run: id } } })),
    staleTime: Infinity,
  });
}

/** One run, kept current by its own stream until it is over. */
export function useRun(id: string) {
  const client = useQueryClient();
  const options = runQuery(id);
  const found = useQuery(options);
  const isRunning = found.data?.state === "running" && found.data.deleted_at === null;
  const state = useStream(isRunning ? id : undefined, {
    address: () => addressOf("/api/v1/runs/{run}/watch", { run: id }),
    onEvent: (event) => {
      if (event.name === "run")
        client.setQueryData(options.queryKey, JSON.parse(event.data) as Run);
    },
    isOver: () => client.getQueryData(options.queryKey)?.state !== "running",
  });
  return { ...found, stream: isRunning ? state : ("over" as const) };
}

export function seriesQuery(id: string) {
  return queryOptions({
    queryKey: ["series", id],
    queryFn: () => ok(api.GET("/api/v1/runs/{run}/series", { params: { path: { run: id } } })),
  });
}

export type PointsWanted = {
  runs: readonly string[];
  series: readonly string[];
  axis: Axis;
  maxPoints: number;
  hidden?: boolean;
};

export function pointsQuery(wanted: PointsWanted) {
  return queryOptions({
    queryKey: ["points", wanted],
    queryFn: async (): Promise<SeriesPoints[]> => {
      const query = {
        run: [...wanted.runs],
        series: [...wanted.series],
        axis: wanted.axis,
        max_points: wanted.maxPoints,
        hidden: wanted.hidden,
      };
      return (await ok(api.GET("/api/v1/runs/points", { params: { query } }))).items;
    },
    staleTime: 30_000,
  });
}

export const foldersQuery = queryOptions({
  queryKey: ["folders"],
  queryFn: async () => (await ok(api.GET("/api/v1/folders"))).items,
});

export function mediaQuery(id: string) {
  return queryOptions({
    queryKey: ["media", id],
    queryFn: () =>
      allPages((cursor) =>
        ok(
          api.GET("/api/v1/runs/{run}/media", {
            params: { path: { run: id }, query: { limit: PAGE, cursor } },
          }),
        ),
      ),
  });
}

/** What the script of a run wanted somebody to know, the newest 100. */
export function runAlertsQuery(id: string) {
  return queryOptions({
    queryKey: ["run alerts", id],
    queryFn: async () =>
      (await ok(api.GET("/api/v1/runs/{run}/alerts", { params: { path: { run: id } } }))).items,
  });
}

/** Where HTML and figures of Plotly are a page of their own, which reaches nothing. */
export function mediaPage(run: string, media: string): string {
  return addressOf("/api/v1/runs/{run}/media/{media}/page", { run, media });
}

/** The bytes of an image, a text or a histogram; the server never lets a browser show them by itself. */
export async function readMedia(run: string, media: string): Promise<Blob> {
  return (await fetched(addressOf("/api/v1/runs/{run}/media/{media}", { run, media }))).blob();
}

export async function readOutput(run: string, journal: string): Promise<string> {
  return (await fetched(addressOf("/api/v1/runs/{run}/output/{journal}", { run, journal }))).text();
}

function useRunChange<Body>(change: (body: Body) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      await Promise.all(
        ["runs", "run", "folders"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      );
    },
  });
}

export function useChangeRun() {
  return useRunChange(({ run, ...body }: Partial<Schemas["ChangeRun"]> & { run: string }) =>
    ok(
      api.PATCH("/api/v1/runs/{run}", {
        params: { path: { run } },
        body: { make_folder: true, ...body },
      }),
    ),
  );
}

/** To the trash; with `purge`, for good. */
export function useDeleteRuns() {
  return useRunChange(async ({ runs, purge }: { runs: readonly string[]; purge: boolean }) => {
    for (const run of runs)
      await ok(api.DELETE("/api/v1/runs/{run}", { params: { path: { run }, query: { purge } } }));
  });
}

export function useRestoreRuns() {
  return useRunChange(async (runs: readonly string[]) => {
    for (const run of runs)
      await ok(api.POST("/api/v1/runs/{run}/restore", { params: { path: { run } } }));
  });
}

/** Each run to its own folder. */
export function useMoveRuns() {
  return useRunChange(async (runs: readonly { id: string; folder: string }[]) => {
    for (const { id, folder } of runs)
      await ok(
        api.PATCH("/api/v1/runs/{run}", {
          params: { path: { run: id } },
          body: { folder, make_folder: true },
        }),
      );
  });
}
