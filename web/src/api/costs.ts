// What jobs cost, for admins.
import { queryOptions } from "@tanstack/react-query";
import { api, ok } from "./client";

export type CostsWanted = { since?: string; until?: string };

export function costsQuery(wanted: CostsWanted) {
  return queryOptions({
    queryKey: ["costs", wanted],
    queryFn: () => ok(api.GET("/api/v1/costs", { params: { query: wanted } })),
  });
}
