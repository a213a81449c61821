// Buckets and what is in them.
import { infiniteQueryOptions, queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { addressOf, api, fetched, ok, type Schemas } from "./client";
import { sendBytes, type Sending } from "./sending";

export type Bucket = Schemas["BucketOut"];
export type StoredObject = Schemas["ObjectOut"];

export const bucketsQuery = queryOptions({
  queryKey: ["buckets"],
  queryFn: async () => (await ok(api.GET("/api/v1/buckets"))).items,
});

/** What lies directly in a folder, page by page. */
export function folderQuery(bucket: string, prefix: string) {
  return infiniteQueryOptions({
    queryKey: ["objects", bucket, prefix],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/v1/buckets/{bucket}/objects", {
          params: {
            path: { bucket },
            query: { prefix, delimiter: "/", cursor: pageParam, limit: 1000 },
          },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function objectAddress(bucket: string, key: string): string {
  return addressOf("/api/v1/buckets/{bucket}/objects/{key}", { bucket, key });
}

/** The first bytes of an object. */
export async function readStart(bucket: string, key: string, most: number): Promise<ArrayBuffer> {
  const range = { headers: { Range: `bytes=0-${String(most - 1)}` } };
  const answered = await fetched(objectAddress(bucket, key), range, [416]);
  if (answered.status === 416) return new ArrayBuffer(0); // nothing is in it
  return answered.arrayBuffer();
}

/** Send a file to its place, as the SDK does with a single object. */
export function sendObject(
  bucket: string,
  key: string,
  file: File,
  onProgress: (bytes: number) => void,
): Sending {
  return sendBytes(objectAddress(bucket, key), file, onProgress);
}

function useStoreChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      await Promise.all(
        ["buckets", "objects"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      );
    },
  });
}

export function useMakeBucket() {
  return useStoreChange((body: Schemas["MakeBucket"]) => ok(api.POST("/api/v1/buckets", { body })));
}

export function useDeleteBucket() {
  return useStoreChange((bucket: string) =>
    ok(api.DELETE("/api/v1/buckets/{bucket}", { params: { path: { bucket } } })),
  );
}

/** Files by their keys; folders, which end in a slash, with all that is in them. */
export function useDeleteObjects() {
  return useStoreChange(async ({ bucket, keys }: { bucket: string; keys: readonly string[] }) => {
    let count = 0;
    for (const key of keys) {
      const path = { bucket };
      const gone = key.endsWith("/")
        ? await ok(
            api.DELETE("/api/v1/buckets/{bucket}/objects", {
              params: { path, query: { prefix: key } },
            }),
          )
        : await ok(
            api.DELETE("/api/v1/buckets/{bucket}/objects/{key}", {
              params: { path: { ...path, key } },
            }),
          );
      count += gone.num_objects;
    }
    return count;
  });
}
