// Models and their versions.
import { infiniteQueryOptions, queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Model = Schemas["ModelOut"];
export type ModelVersion = Schemas["ModelVersionOut"];
export type Compared = Schemas["ComparedRow"];
export type ModelKey = { model: string; project?: string };

export function modelsQuery(wanted: { name?: string; project?: string }) {
  return infiniteQueryOptions({
    queryKey: ["models", wanted],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/v1/models", {
          params: { query: { ...wanted, cursor: pageParam, limit: 200 } },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function modelQuery({ model, project }: ModelKey) {
  return queryOptions({
    queryKey: ["model", project, model],
    queryFn: () =>
      ok(api.GET("/api/v1/models/{model}", { params: { path: { model }, query: { project } } })),
  });
}

export function modelVersionsQuery({ model, project }: ModelKey) {
  return queryOptions({
    queryKey: ["model versions", project, model],
    queryFn: () =>
      allPages((cursor) =>
        ok(
          api.GET("/api/v1/models/{model}/versions", {
            params: { path: { model }, query: { project, limit: 1000, cursor } },
          }),
        ),
      ),
  });
}

export function compareModelsQuery({ model, project }: ModelKey, versions: readonly string[]) {
  return queryOptions({
    queryKey: ["model compare", project, model, versions],
    queryFn: () =>
      ok(
        api.GET("/api/v1/models/{model}/compare", {
          params: { path: { model }, query: { project, version: [...versions] } },
        }),
      ),
    enabled: versions.length > 1,
  });
}

function useModelChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      await Promise.all(
        ["models", "model", "model versions", "model compare", "flow"].map((name) =>
          client.invalidateQueries({ queryKey: [name] }),
        ),
      );
    },
  });
}

export type Registering = Partial<Schemas["RegisterModel"]> & { name: string };

export function useRegisterModel() {
  return useModelChange((body: Registering) =>
    ok(api.POST("/api/v1/models", { body: body as Schemas["RegisterModel"] })),
  );
}

export function useSetAlias() {
  return useModelChange(
    ({ model, project, alias, version }: ModelKey & { alias: string; version: number }) =>
      ok(
        api.PUT("/api/v1/models/{model}/aliases/{alias}", {
          params: { path: { model, alias }, query: { project } },
          body: { version: String(version) },
        }),
      ),
  );
}

export function useDeleteAlias() {
  return useModelChange(({ model, project, alias }: ModelKey & { alias: string }) =>
    ok(
      api.DELETE("/api/v1/models/{model}/aliases/{alias}", {
        params: { path: { model, alias }, query: { project } },
      }),
    ),
  );
}

export function useDeleteModelVersion() {
  return useModelChange(
    ({ model, project, version, files }: ModelKey & { version: number; files: boolean }) =>
      ok(
        api.DELETE("/api/v1/models/{model}/versions/{which}", {
          params: { path: { model, which: String(version) }, query: { project, files } },
        }),
      ),
  );
}
