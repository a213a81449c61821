import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";
import { meQuery } from "./session";

export type Key = Schemas["KeyOut"];

/** Your own keys. */
export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/keys", { params: { query: { limit: 1000, cursor } } })),
    ),
});

export function useMakeKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["MakeKey"]) => ok(api.POST("/api/v1/keys", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
}

export function useDeleteKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      ok(api.DELETE("/api/v1/keys/{key_id}", { params: { path: { key_id: id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
}

export function useSetPassword() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["SetPassword"]) => ok(api.PUT("/api/v1/me/password", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: meQuery.queryKey }),
  });
}
