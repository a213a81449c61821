// Templates: parts of jobs that people keep to begin with.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Template = Schemas["TemplateOut"];

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/templates", { params: { query: { limit: 1000, cursor } } })),
    ),
});

function useTemplateChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: templatesQuery.queryKey }),
  });
}

export function useSaveTemplate() {
  return useTemplateChange((body: Schemas["SaveTemplate"]) =>
    ok(api.POST("/api/v1/templates", { body })),
  );
}

export function useDeleteTemplate() {
  return useTemplateChange((template: string) =>
    ok(api.DELETE("/api/v1/templates/{template}", { params: { path: { template } } })),
  );
}
