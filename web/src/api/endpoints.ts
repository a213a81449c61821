// Endpoints of a job: what opens in a browser while it runs. SSH keys, and where ssh finds jobs.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { spoken, told } from "@/texts/told";
import { api, ok, type Schemas } from "./client";
import { isOver } from "./jobs";

const LOOK_AGAIN_MS = 1000;

export type Endpoint = Schemas["EndpointOut"];
export type SshKey = Schemas["SshKeyOut"];

export function endpointsQuery(job: string) {
  return queryOptions({
    queryKey: ["endpoints", job],
    queryFn: async () =>
      (await ok(api.GET("/api/v1/jobs/{job}/endpoints", { params: { path: { job } } }))).items,
  });
}

export function useOpenEndpoint(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (wanted: { endpoint: string; isShared: boolean }) =>
      ok(
        api.PUT("/api/v1/jobs/{job}/endpoints/{endpoint}", {
          params: { path: { job, endpoint: wanted.endpoint } },
          body: { is_shared: wanted.isShared },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: endpointsQuery(job).queryKey }),
  });
}

export function useCloseEndpoint(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (endpoint: string) =>
      ok(
        api.DELETE("/api/v1/jobs/{job}/endpoints/{endpoint}", {
          params: { path: { job, endpoint } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: endpointsQuery(job).queryKey }),
  });
}

/** A link that lets this browser in. */
export function useEndpointLink(job: string) {
  return useMutation({
    mutationFn: (endpoint: string) =>
      ok(
        api.POST("/api/v1/jobs/{job}/endpoints/{endpoint}/links", {
          params: { path: { job, endpoint } },
        }),
      ),
  });
}

/** A link to TensorBoard of a job that is over: a small job shows it, once that runs. */
export function useViewerLink(job: string) {
  return useMutation({
    mutationFn: async (isWanted: () => boolean) => {
      const params = { path: { job } };
      let viewer = await ok(api.POST("/api/v1/jobs/{job}/viewers", { params }));
      while (viewer.state !== "running") {
        if (isOver(viewer.state)) {
          const why = told(spoken(), viewer.said, viewer.reason.message);
          throw new Error(`${viewer.name}${spoken().of}${why}`);
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
        if (!isWanted()) return undefined;
        viewer = await ok(api.GET("/api/v1/jobs/{job}", { params: { path: { job: viewer.id } } }));
      }
      return ok(
        api.POST("/api/v1/jobs/{job}/endpoints/{endpoint}/links", {
          params: { path: { job: viewer.id, endpoint: "tensorboard" } },
        }),
      );
    },
  });
}

export const sshGatewayQuery = queryOptions({
  queryKey: ["ssh-gateway"],
  queryFn: () => ok(api.GET("/api/v1/ssh-gateway")),
  staleTime: Infinity,
});

export const sshKeysQuery = queryOptions({
  queryKey: ["ssh-keys"],
  queryFn: async () => (await ok(api.GET("/api/v1/ssh-keys"))).items,
});

export function useAddSshKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["AddSshKey"]) => ok(api.POST("/api/v1/ssh-keys", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: sshKeysQuery.queryKey }),
  });
}

export function useRemoveSshKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      ok(api.DELETE("/api/v1/ssh-keys/{ssh_key}", { params: { path: { ssh_key: id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: sshKeysQuery.queryKey }),
  });
}
