// Saved views: how somebody looked at runs, under a name and with a link.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type View = Schemas["ViewOut"];
export type ViewPage = Schemas["ViewPage"];

export const viewsQuery = queryOptions({
  queryKey: ["views"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/views", { params: { query: { limit: 1000, cursor } } })),
    ),
});

export function viewQuery(id: string) {
  return queryOptions({
    queryKey: ["view", id],
    queryFn: () => ok(api.GET("/api/v1/views/{view}", { params: { path: { view: id } } })),
  });
}

function useViewChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      await Promise.all(
        ["views", "view"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      );
    },
  });
}

export function useSaveView() {
  return useViewChange((body: Schemas["SaveView"]) => ok(api.POST("/api/v1/views", { body })));
}

export function useDeleteView() {
  return useViewChange((view: string) =>
    ok(api.DELETE("/api/v1/views/{view}", { params: { path: { view } } })),
  );
}

/** What an address says, as a view keeps it. */
export function savedSearch(search: Readonly<Record<string, unknown>>): View["search"] {
  const kept = Object.entries(search).filter(
    ([name, value]) => name !== "view" && value !== undefined && value !== null,
  );
  return Object.fromEntries(kept) as View["search"];
}
