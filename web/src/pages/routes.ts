// Routes of what runs leave behind and of what they run on. Each page is loaded when it is first shown.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { foldersQuery, runQuery, runsQuery } from "@/api/runs";
import { chartViewIn } from "@/parts/chart/view";
import { inside } from "@/router";
import { choiceIn, flagIn, listIn, textIn } from "@/search";
import { wantedOf } from "./experiments/filter";

type Search = Record<string, unknown>;

export const RUN_TABS = ["charts", "details", "system", "output", "media"] as const;
export const COMPARE_TABS = ["charts", "values", "parallel", "scatter"] as const;

const experiments = createRoute({
  getParentRoute: () => inside,
  path: "/experiments",
  validateSearch: (search: Search) => ({
    ...textIn(search, "q"),
    ...textIn(search, "folder"),
    ...textIn(search, "sort"),
    ...listIn(search, "columns"),
    ...flagIn(search, "bin"),
  }),
  loaderDeps: ({ search }) => wantedOf(search),
  loader: ({ context, deps }) => {
    void context.client.prefetchQuery(foldersQuery);
    void context.client.prefetchQuery(runsQuery(deps));
  },
  component: lazyRouteComponent(
    () => import("@/pages/experiments/ExperimentsPage"),
    "ExperimentsPage",
  ),
});

const compare = createRoute({
  getParentRoute: () => inside,
  path: "/experiments/compare",
  validateSearch: (search: Search) => ({
    ...textIn(search, "runs"),
    ...choiceIn(search, "tab", COMPARE_TABS),
    ...textIn(search, "x"),
    ...textIn(search, "y"),
    ...listIn(search, "axes"),
    ...flagIn(search, "same"),
    ...chartViewIn(search),
  }),
  component: lazyRouteComponent(() => import("@/pages/compare/ComparePage"), "ComparePage"),
});

const run = createRoute({
  getParentRoute: () => inside,
  path: "/experiments/$id",
  validateSearch: (search: Search) => ({
    ...choiceIn(search, "tab", RUN_TABS),
    ...chartViewIn(search),
  }),
  loader: ({ context, params }) => {
    void context.client.prefetchQuery(runQuery(params.id));
  },
  component: lazyRouteComponent(() => import("@/pages/run/RunPage"), "RunPage"),
});

export const moreRoutes = [experiments, compare, run] as const;
