import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Node = Schemas["NodeOut"];

export const nodesQuery = queryOptions({
  queryKey: ["nodes"],
  queryFn: async () => (await ok(api.GET("/api/v1/nodes"))).items,
  refetchInterval: 10_000,
});

export type Holding = Schemas["HoldingOut"];

/** Who held what in the hours up to now. */
export function holdingsQuery(hours: number) {
  return queryOptions({
    queryKey: ["holdings", hours],
    queryFn: async () => {
      const until = new Date();
      const since = new Date(until.getTime() - hours * 3_600_000);
      const query = { since: since.toISOString(), until: until.toISOString(), limit: 1000 };
      const items = await allPages((cursor) =>
        ok(api.GET("/api/v1/nodes/holdings", { params: { query: { ...query, cursor } } })),
      );
      return { since: since.getTime(), until: until.getTime(), items };
    },
    refetchInterval: 60_000,
  });
}

export function useDrain(node: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["DrainNode"]) =>
      ok(api.PUT("/api/v1/nodes/{node}/drain", { params: { path: { node } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: nodesQuery.queryKey }),
  });
}

export function useOpenNode() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (node: string) =>
      ok(api.DELETE("/api/v1/nodes/{node}/drain", { params: { path: { node } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: nodesQuery.queryKey }),
  });
}

export type DeviceUse = { device: string; total: number; used: number; perNode: number };

/** Devices by type and model, over all nodes that answer. */
export function devicesOf(nodes: readonly Node[]): DeviceUse[] {
  const found = new Map<string, DeviceUse>();
  for (const node of nodes.filter((one) => one.is_reachable)) {
    const here = new Map<string, number>();
    for (const device of node.devices) {
      const name = device.model ? `${device.type}:${device.model}` : device.type;
      const use = found.get(name) ?? { device: name, total: 0, used: 0, perNode: 0 };
      here.set(name, (here.get(name) ?? 0) + 1);
      found.set(name, {
        ...use,
        total: use.total + 1,
        used: use.used + (device.job ? 1 : 0),
        perNode: Math.max(use.perNode, here.get(name) ?? 0),
      });
    }
  }
  return [...found.values()].sort((a, b) => (a.device < b.device ? -1 : 1));
}
