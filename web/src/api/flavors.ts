// Flavors and frameworks: what a job asks for by name.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Flavor = Schemas["FlavorOut"];
export type Framework = Schemas["FrameworkOut"];

export const flavorsQuery = queryOptions({
  queryKey: ["flavors"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/flavors", { params: { query: { limit: 1000, cursor } } })),
    ),
  refetchInterval: 15_000, // how many are free
});

export const suggestionsQuery = queryOptions({
  queryKey: ["flavor-suggestions"],
  queryFn: async (): Promise<Flavor[]> => (await ok(api.GET("/api/v1/flavor-suggestions"))).items,
});

export const frameworksQuery = queryOptions({
  queryKey: ["frameworks"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/frameworks", { params: { query: { limit: 1000, cursor } } })),
    ),
});

function useMenuChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      const names = ["flavors", "flavor-suggestions", "frameworks", "plan", "audit"];
      await Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })));
    },
  });
}

export type NewFlavor = Pick<Schemas["MakeFlavor"], "name"> & Partial<Schemas["MakeFlavor"]>;

export function useMakeFlavor() {
  return useMenuChange((body: NewFlavor) =>
    ok(api.POST("/api/v1/flavors", { body: body as Schemas["MakeFlavor"] })),
  );
}

/** Several at once; the first that is refused ends it. */
export function useMakeFlavors() {
  return useMenuChange(async (flavors: readonly Flavor[]) => {
    for (const one of flavors) {
      const { name, device, cpus, memory, price_per_hour, description } = one;
      const body = { name, device, cpus, memory, price_per_hour, description, is_enabled: true };
      await ok(api.POST("/api/v1/flavors", { body }));
    }
  });
}

export function useChangeFlavor() {
  return useMenuChange(({ name, ...body }: Schemas["ChangeFlavor"] & { name: string }) =>
    ok(api.PATCH("/api/v1/flavors/{flavor}", { params: { path: { flavor: name } }, body })),
  );
}

export function useDeleteFlavor() {
  return useMenuChange((name: string) =>
    ok(api.DELETE("/api/v1/flavors/{flavor}", { params: { path: { flavor: name } } })),
  );
}

export type NewFramework = Pick<Schemas["MakeFramework"], "name"> &
  Partial<Schemas["MakeFramework"]>;

export function useMakeFramework() {
  return useMenuChange((body: NewFramework) =>
    ok(api.POST("/api/v1/frameworks", { body: body as Schemas["MakeFramework"] })),
  );
}

export function useChangeFramework() {
  return useMenuChange(({ name, ...body }: Schemas["ChangeFramework"] & { name: string }) =>
    ok(
      api.PATCH("/api/v1/frameworks/{framework}", { params: { path: { framework: name } }, body }),
    ),
  );
}

export function useDeleteFramework() {
  return useMenuChange((name: string) =>
    ok(api.DELETE("/api/v1/frameworks/{framework}", { params: { path: { framework: name } } })),
  );
}
