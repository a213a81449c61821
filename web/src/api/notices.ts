// What people are told: alerts on jobs, notices, e-mail and webhooks.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";

export type Alert = Schemas["AlertOut"];
export type Notice = Schemas["NoticeOut"];
export type EventKind = Schemas["EventKind"];
export type Webhook = Schemas["WebhookOut"];

const EVERY_MS = 30_000;
const SHOWN = 20;

export function alertsQuery(job: string) {
  return queryOptions({
    queryKey: ["alerts", job],
    queryFn: async () =>
      (await ok(api.GET("/api/v1/jobs/{job}/alerts", { params: { path: { job } } }))).items,
    refetchInterval: EVERY_MS,
  });
}

/** The newest ones, and how many are unread. */
export const noticesQuery = queryOptions({
  queryKey: ["notices"],
  queryFn: () => ok(api.GET("/api/v1/notices", { params: { query: { limit: SHOWN } } })),
  refetchInterval: EVERY_MS,
});

export function useMarkRead() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (upTo: number) => ok(api.PUT("/api/v1/notices/read", { body: { up_to: upTo } })),
    onSuccess: () => client.invalidateQueries({ queryKey: noticesQuery.queryKey }),
  });
}

export const wishesQuery = queryOptions({
  queryKey: ["notice-wishes"],
  queryFn: () => ok(api.GET("/api/v1/notices/wishes")),
});

export function useSetWishes() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (email: EventKind[]) => ok(api.PUT("/api/v1/notices/wishes", { body: { email } })),
    onSuccess: (wishes) => {
      client.setQueryData(wishesQuery.queryKey, wishes);
    },
  });
}

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: async () => (await ok(api.GET("/api/v1/webhooks"))).items,
});

export function useAddWebhook() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["AddWebhook"]) => ok(api.POST("/api/v1/webhooks", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
  });
}

export function useRemoveWebhook() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (webhook: string) =>
      ok(api.DELETE("/api/v1/webhooks/{webhook}", { params: { path: { webhook } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
  });
}

export function deliveriesQuery(webhook: string) {
  return queryOptions({
    queryKey: ["deliveries", webhook],
    queryFn: async () =>
      (
        await ok(
          api.GET("/api/v1/webhooks/{webhook}/deliveries", { params: { path: { webhook } } }),
        )
      ).items,
    refetchInterval: 3_000,
  });
}

/** Have an event sent that says nothing but that the webhook works. */
export function useTryWebhook() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (webhook: string) =>
      ok(api.POST("/api/v1/webhooks/{webhook}/test", { params: { path: { webhook } } })),
    onSuccess: (_, webhook) =>
      client.invalidateQueries({ queryKey: deliveriesQuery(webhook).queryKey }),
  });
}
