// Favourites: jobs that somebody wants to find again.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok } from "./client";
import { allPages } from "./pages";

const NONE: ReadonlySet<string> = new Set();

/** The ids of the jobs that are favourites. */
export const favouritesQuery = queryOptions({
  queryKey: ["favourites"],
  queryFn: async (): Promise<ReadonlySet<string>> => {
    const rows = await allPages((cursor) =>
      ok(api.GET("/api/v1/favourites", { params: { query: { limit: 1000, cursor } } })),
    );
    return new Set(rows.map((row) => row.job));
  },
  structuralSharing: false, // it knows no sets
});

export function useFavourites(): ReadonlySet<string> {
  return useQuery(favouritesQuery).data ?? NONE;
}

export function useSetFavourite(job: string) {
  const client = useQueryClient();
  const params = { path: { job } };
  return useMutation({
    mutationFn: async (isOne: boolean): Promise<void> => {
      if (isOne) await ok(api.PUT("/api/v1/favourites/{job}", { params }));
      else await ok(api.DELETE("/api/v1/favourites/{job}", { params }));
    },
    onSuccess: (_, isOne) => {
      client.setQueryData<ReadonlySet<string>>(favouritesQuery.queryKey, (before = NONE) => {
        const after = new Set(before);
        if (isOne) after.add(job);
        else after.delete(job);
        return after;
      });
    },
  });
}
