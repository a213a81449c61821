// The data flow: what comes from what.
import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, ok, type Schemas } from "./client";

export type FlowNode = Schemas["FlowNode"];
export type FlowEdge = Schemas["FlowEdge"];
export type Direction = Schemas["Direction"];
export const DIRECTIONS: readonly Direction[] = ["both", "up", "down"];

export function flowQuery(node: string, direction: Direction, depth: number) {
  return infiniteQueryOptions({
    queryKey: ["flow", node, direction, depth],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/v1/flow", {
          params: { query: { node, direction, depth, cursor: pageParam, limit: 200 } },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}
