// Routes of what runs leave behind and of what they run on. Each page is loaded when it is first shown.
import { createRoute } from "@tanstack/react-router";
import { benchRunsQuery } from "@/api/bench";
import { exampleQuery, examplesQuery } from "@/api/examples";
import { DIRECTIONS } from "@/api/flow";
import { nodesQuery } from "@/api/nodes";
import { foldersQuery, runQuery, runsQuery } from "@/api/runs";
import { chartViewIn } from "@/parts/chart/view";
import { page } from "@/loading";
import { inside } from "@/router";
import { choiceIn, flagIn, listIn, numberIn, textIn } from "@/search";
import { COSTS_BY } from "./admin/costs";
import { wantedOf } from "./experiments/filter";

type Search = Record<string, unknown>;

export const RUN_TABS = ["charts", "details", "system", "output", "media", "flow"] as const;
export const COMPARE_TABS = ["charts", "values", "environment", "parallel", "scatter"] as const;

const experiments = createRoute({
  getParentRoute: () => inside,
  path: "/experiments",
  validateSearch: (search: Search) => ({
    ...textIn(search, "q"),
    ...textIn(search, "folder"),
    ...textIn(search, "sort"),
    ...listIn(search, "columns"),
    ...flagIn(search, "bin"),
    ...textIn(search, "selected"),
    ...choiceIn(search, "show", ["charts"]),
    ...listIn(search, "fixed"),
    ...textIn(search, "baseline"),
    ...textIn(search, "view"),
    ...chartViewIn(search),
  }),
  loaderDeps: ({ search }) => wantedOf(search),
  loader: ({ context, deps }) => {
    void context.client.prefetchQuery(foldersQuery);
    void context.client.prefetchQuery(runsQuery(deps));
  },
  component: page(() => import("@/pages/experiments/ExperimentsPage"), "ExperimentsPage"),
});

const compare = createRoute({
  getParentRoute: () => inside,
  path: "/experiments/compare",
  validateSearch: (search: Search) => ({
    ...textIn(search, "runs"),
    ...textIn(search, "baseline"),
    ...choiceIn(search, "tab", COMPARE_TABS),
    ...textIn(search, "x"),
    ...textIn(search, "y"),
    ...listIn(search, "axes"),
    ...flagIn(search, "same"),
    ...textIn(search, "view"),
    ...chartViewIn(search),
  }),
  component: page(() => import("@/pages/compare/ComparePage"), "ComparePage"),
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
  component: page(() => import("@/pages/run/RunPage"), "RunPage"),
});

const view = createRoute({
  getParentRoute: () => inside,
  path: "/views/$id",
  component: page(() => import("@/pages/views/ViewPage"), "ViewPage"),
});

const cluster = createRoute({
  getParentRoute: () => inside,
  path: "/cluster",
  loader: ({ context }) => {
    void context.client.prefetchQuery(nodesQuery);
  },
  component: page(() => import("@/pages/cluster/ClusterPage"), "ClusterPage"),
});

const bench = createRoute({
  getParentRoute: () => inside,
  path: "/bench",
  validateSearch: (search: Search) => textIn(search, "run"),
  loader: ({ context }) => {
    void context.client.prefetchQuery(benchRunsQuery);
  },
  component: page(() => import("@/pages/bench/BenchPage"), "BenchPage"),
});

const store = createRoute({
  getParentRoute: () => inside,
  path: "/store",
  validateSearch: (search: Search) => ({
    ...textIn(search, "bucket"),
    ...textIn(search, "path"),
    ...textIn(search, "file"),
  }),
  component: page(() => import("@/pages/store/StorePage"), "StorePage"),
});

const auditIn = (search: Search) => ({
  ...textIn(search, "person"),
  ...textIn(search, "object"),
  ...textIn(search, "action"),
  ...textIn(search, "since"),
  ...textIn(search, "until"),
});

const projects = createRoute({
  getParentRoute: () => inside,
  path: "/projects",
  component: page(() => import("@/pages/projects/ProjectsPage"), "ProjectsPage"),
});

const project = createRoute({
  getParentRoute: () => inside,
  path: "/projects/$name",
  validateSearch: (search: Search) => ({
    ...choiceIn(search, "tab", ["members", "quotas", "audit"]),
    ...auditIn(search),
  }),
  component: page(() => import("@/pages/projects/ProjectPage"), "ProjectPage"),
});

const admin = createRoute({
  getParentRoute: () => inside,
  path: "/admin",
  validateSearch: (search: Search) => ({
    ...choiceIn(search, "tab", ["people", "flavors", "frameworks", "costs", "audit"]),
    ...choiceIn(search, "by", COSTS_BY),
    ...auditIn(search),
  }),
  component: page(() => import("@/pages/admin/AdminPage"), "AdminPage"),
});

const artifacts = createRoute({
  getParentRoute: () => inside,
  path: "/artifacts",
  validateSearch: (search: Search) => textIn(search, "q"),
  component: page(() => import("@/pages/artifacts/ArtifactsPage"), "ArtifactsPage"),
});

const artifact = createRoute({
  getParentRoute: () => inside,
  path: "/artifacts/$id",
  validateSearch: (search: Search) => choiceIn(search, "tab", ["files", "versions", "flow"]),
  component: page(() => import("@/pages/artifacts/ArtifactPage"), "ArtifactPage"),
});

const models = createRoute({
  getParentRoute: () => inside,
  path: "/models",
  validateSearch: (search: Search) => textIn(search, "q"),
  component: page(() => import("@/pages/models/ModelsPage"), "ModelsPage"),
});

const model = createRoute({
  getParentRoute: () => inside,
  path: "/models/$name",
  validateSearch: (search: Search) => ({
    ...choiceIn(search, "tab", ["versions", "details", "flow", "compare"]),
    ...textIn(search, "version"),
    ...textIn(search, "with"),
  }),
  component: page(() => import("@/pages/models/ModelPage"), "ModelPage"),
});

const flow = createRoute({
  getParentRoute: () => inside,
  path: "/flow",
  validateSearch: (search: Search) => ({
    ...textIn(search, "node"),
    ...choiceIn(search, "direction", DIRECTIONS),
    ...numberIn(search, "depth"),
  }),
  component: page(() => import("@/pages/flow/FlowPage"), "FlowPage"),
});

const examples = createRoute({
  getParentRoute: () => inside,
  path: "/examples",
  validateSearch: (search: Search) => textIn(search, "tag"),
  loader: ({ context }) => {
    void context.client.prefetchQuery(examplesQuery);
  },
  component: page(() => import("@/pages/examples/ExamplesPage"), "ExamplesPage"),
});

const example = createRoute({
  getParentRoute: () => inside,
  path: "/examples/$name",
  validateSearch: (search: Search) => textIn(search, "file"),
  loader: ({ context, params }) => {
    void context.client.prefetchQuery(exampleQuery(params.name));
  },
  component: page(() => import("@/pages/examples/ExamplePage"), "ExamplePage"),
});

export const moreRoutes = [
  examples,
  example,
  artifacts,
  artifact,
  models,
  model,
  flow,
  experiments,
  compare,
  run,
  view,
  cluster,
  bench,
  store,
  projects,
  project,
  admin,
] as const;
