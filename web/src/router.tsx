// All routes. Each page is loaded when it is first shown; its state is in the address.
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import { jobsQuery } from "@/api/jobs";
import { meQuery } from "@/api/session";
import { Frame } from "@/frame/Frame";
import { Away, Problem } from "@/parts/Empty";
import { ApiProblem } from "@/api/problem";
import { moreRoutes } from "@/pages/routes";
import { LEVEL_NAMES } from "@/pages/job/logs/levels";
import { chartViewIn } from "@/parts/chart/view";
import { page } from "@/loading";
import { addressPartOf, choiceIn, flagIn, numberIn, searchOf, textIn } from "@/search";

type Context = { client: QueryClient };

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): { project?: string } =>
    textIn(search, "project"),
  search: { middlewares: [retainSearchParams(["project"])] },
  notFoundComponent: () => <Problem error={new ApiProblem(404, "NotFound", "", {})} />,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/signin",
  validateSearch: (search: Record<string, unknown>): { token?: string; next?: string } => ({
    ...textIn(search, "token"),
    ...textIn(search, "next"),
  }),
  component: page(() => import("@/pages/entry/SignInPage"), "SignInPage"),
});

const register = createRoute({
  getParentRoute: () => root,
  path: "/register",
  component: page(() => import("@/pages/entry/RegisterPage"), "RegisterPage"),
});

/** All pages inside need a signed-in user. */
export const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ context, location }) => {
    const me = await context.client.ensureQueryData(meQuery);
    if (!me) {
      const next = location.href === "/" ? undefined : location.href;

      throw redirect({ to: "/signin", search: { next } });
    }
  },
  component: Frame,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  component: page(() => import("@/pages/overview/OverviewPage"), "OverviewPage"),
});

const jobs = createRoute({
  getParentRoute: () => inside,
  path: "/jobs",
  validateSearch: (search: Record<string, unknown>) => ({
    ...textIn(search, "state"),
    ...textIn(search, "q"),
    ...textIn(search, "owner"),
    ...flagIn(search, "favourites"),
    ...textIn(search, "sort"),
    ...textIn(search, "columns"),
  }),
  loader: ({ context }) => {
    void context.client.prefetchQuery(jobsQuery());
  },
  component: page(() => import("@/pages/jobs/JobsPage"), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => inside,
  path: "/jobs/$id",
  component: page(() => import("@/pages/job/JobPage"), "JobPage"),
});

const jobOverview = createRoute({
  getParentRoute: () => job,
  path: "/",
  component: page(() => import("@/pages/job/OverviewTab"), "OverviewTab"),
});

const jobLogs = createRoute({
  getParentRoute: () => job,
  path: "/logs",
  validateSearch: (search: Record<string, unknown>) => ({
    ...numberIn(search, "attempt"),
    ...numberIn(search, "rank"),
    ...textIn(search, "q"),
    ...flagIn(search, "regex"),
    ...choiceIn(search, "level", LEVEL_NAMES),
    ...flagIn(search, "wrap"),
    ...flagIn(search, "times"),
    ...flagIn(search, "all"),
    ...numberIn(search, "line"),
  }),
  component: page(() => import("@/pages/job/logs/LogsTab"), "LogsTab"),
});

const jobMetrics = createRoute({
  getParentRoute: () => job,
  path: "/metrics",
  validateSearch: (search: Record<string, unknown>) => chartViewIn(search),
  component: page(() => import("@/pages/job/MetricsTab"), "MetricsTab"),
});

const jobResources = createRoute({
  getParentRoute: () => job,
  path: "/resources",
  validateSearch: (search: Record<string, unknown>) => numberIn(search, "attempt"),
  component: page(() => import("@/pages/job/resources/ResourcesTab"), "ResourcesTab"),
});

const jobTasks = createRoute({
  getParentRoute: () => job,
  path: "/tasks",
  validateSearch: (search: Record<string, unknown>) => numberIn(search, "attempt"),
  component: page(() => import("@/pages/job/TasksTab"), "TasksTab"),
});

const jobFlow = createRoute({
  getParentRoute: () => job,
  path: "/flow",
  component: page(() => import("@/pages/job/FlowTab"), "FlowTab"),
});

const jobSpec = createRoute({
  getParentRoute: () => job,
  path: "/spec",
  component: page(() => import("@/pages/job/SpecTab"), "SpecTab"),
});

const jobEndpoints = createRoute({
  getParentRoute: () => job,
  path: "/endpoints",
  component: page(() => import("@/pages/job/EndpointsTab"), "EndpointsTab"),
});

const jobTerminal = createRoute({
  getParentRoute: () => job,
  path: "/terminal",
  validateSearch: (search: Record<string, unknown>) => numberIn(search, "rank"),
  component: page(() => import("@/pages/job/terminal/TerminalTab"), "TerminalTab"),
});

const jobEvents = createRoute({
  getParentRoute: () => job,
  path: "/events",
  component: page(() => import("@/pages/job/EventsTab"), "EventsTab"),
});

const jobTabs = [
  jobOverview,
  jobLogs,
  jobMetrics,
  jobResources,
  jobTasks,
  jobFlow,
  jobSpec,
  jobEndpoints,
  jobTerminal,
  jobEvents,
];

const submit = createRoute({
  getParentRoute: () => inside,
  path: "/submit",
  validateSearch: (search: Record<string, unknown>) => ({
    ...textIn(search, "from"),
    ...textIn(search, "example"),
  }),
  component: page(() => import("@/pages/submit/SubmitPage"), "SubmitPage"),
});

const profile = createRoute({
  getParentRoute: () => inside,
  path: "/profile",
  component: page(() => import("@/pages/profile/ProfilePage"), "ProfilePage"),
});

/** What no page has the address of keeps the navigation. */
const unknown = createRoute({
  getParentRoute: () => inside,
  path: "$",
  component: () => <Problem error={new ApiProblem(404, "NotFound", "", {})} />,
});

const tree = root.addChildren([
  signIn,
  register,
  inside.addChildren([
    overview,
    jobs,
    job.addChildren(jobTabs),
    submit,
    profile,
    ...moreRoutes,
    unknown,
  ]),
]);

export function makeRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: "intent",
    defaultPendingComponent: Away,
    defaultPendingMs: 250,
    defaultErrorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} />,
    scrollRestoration: true,
    parseSearch: searchOf,
    stringifySearch: addressPartOf,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
