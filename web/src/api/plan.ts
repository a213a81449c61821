import { queryOptions } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";

export type Plan = Schemas["PlanOut"];
type Spec = Record<string, unknown>;

/** What would be started; fails with a sentence per field when the job cannot be. */
export function planQuery(spec: Spec) {
  return queryOptions({
    queryKey: ["plan", JSON.stringify(spec)],
    queryFn: ({ signal }) =>
      ok(api.POST("/api/v1/jobs/plan", { body: { spec, explain: true }, signal })),
    retry: false,
    staleTime: 30_000,
    gcTime: 60_000,
  });
}

export function useSubmitJob() {
  return useMutation({
    // the same id again, should the answer get lost: no second job
    mutationFn: (asked: { spec: Spec; requestId: string }) =>
      ok(api.POST("/api/v1/jobs", { body: { spec: asked.spec, request_id: asked.requestId } })),
  });
}
