// Artifacts: names with versions, and the files in a version.
import { infiniteQueryOptions, queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { spoken } from "@/texts/told";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Artifact = Schemas["ArtifactOut"];
export type Version = Schemas["VersionOut"];
export type ManifestFile = {
  path: string;
  size: number;
  sha256: string;
  chunks: [sha256: string, size: number][];
};
export type Reference = { path: string; uri: string; size?: number | null };
export type Manifest = { files: ManifestFile[]; references: Reference[] };

const ASKED_AT_ONCE = 8;

export function artifactsQuery(wanted: { prefix?: string; project?: string }) {
  return infiniteQueryOptions({
    queryKey: ["artifacts", wanted],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/v1/artifacts", {
          params: { query: { ...wanted, cursor: pageParam, limit: 200 } },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

export function versionQuery(version: string) {
  return queryOptions({
    queryKey: ["artifact", version],
    queryFn: () =>
      ok(api.GET("/api/v1/artifacts/versions/{version}", { params: { path: { version } } })),
  });
}

export function versionsQuery(name: string, project: string) {
  return queryOptions({
    queryKey: ["artifact versions", project, name],
    queryFn: () =>
      allPages((cursor) =>
        ok(
          api.GET("/api/v1/artifacts/versions", {
            params: { query: { name, project, limit: 1000, cursor } },
          }),
        ),
      ),
  });
}

/** What is in a version never changes. */
export function manifestQuery(version: string) {
  return queryOptions({
    queryKey: ["manifest", version],
    queryFn: async (): Promise<Manifest> => {
      const bytes = await ok(
        api.GET("/api/v1/artifacts/versions/{version}/manifest", {
          params: { path: { version } },
          parseAs: "arrayBuffer",
        }),
      );
      return JSON.parse(new TextDecoder().decode(bytes as ArrayBuffer)) as Manifest;
    },
    staleTime: Infinity,
  });
}

/** The first bytes of a file, put together from its chunks; all of it without a limit. */
export async function readFile(
  version: string,
  file: ManifestFile,
  most = Infinity,
): Promise<ArrayBuffer> {
  const wanted: [string, number][] = [];
  let bytes = 0;
  for (const chunk of file.chunks) {
    if (bytes >= most) break;
    wanted.push(chunk);
    bytes += chunk[1];
  }
  const found = await readChunks(
    version,
    wanted.map(([digest]) => digest),
  );
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const [digest, size] of wanted) {
    const piece = found.get(digest);
    if (piece?.length !== size) throw new Error(spoken().incomplete(file.path));
    whole.set(piece, at);
    at += size;
  }
  return whole.buffer.slice(0, Math.min(bytes, most));
}

async function readChunks(version: string, digests: string[]): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  let left = [...new Set(digests)];
  while (left.length) {
    const answered = await ok(
      api.POST("/api/v1/artifacts/versions/{version}/chunks", {
        params: { path: { version } },
        body: { digests: left.slice(0, ASKED_AT_ONCE) },
        parseAs: "arrayBuffer",
      }),
    );
    const pieces = unpack(answered as ArrayBuffer);
    if (!pieces.size) return found; // what is missing is told of its file
    for (const [digest, bytes] of pieces) found.set(digest, bytes);
    left = left.filter((digest) => !found.has(digest));
  }
  return found;
}

/** Four bytes say how long the header is; the header names the pieces; the pieces follow. */
export function unpack(data: ArrayBuffer): Map<string, Uint8Array> {
  const length = new DataView(data).getUint32(0);
  const header = JSON.parse(new TextDecoder().decode(data.slice(4, 4 + length))) as {
    sha256: string;
    size: number;
  }[];
  const pieces = new Map<string, Uint8Array>();
  let at = 4 + length;
  for (const { sha256, size } of header) {
    pieces.set(sha256, new Uint8Array(data, at, size));
    at += size;
  }
  return pieces;
}

function useArtifactChange<Body>(change: (body: Body) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      await Promise.all(
        ["artifacts", "artifact", "artifact versions", "flow"].map((name) =>
          client.invalidateQueries({ queryKey: [name] }),
        ),
      );
    },
  });
}

export function useChangeVersion() {
  return useArtifactChange(({ id, ...body }: Schemas["ChangeVersion"] & { id: string }) =>
    ok(
      api.PATCH("/api/v1/artifacts/versions/{version}", {
        params: { path: { version: id } },
        body,
      }),
    ),
  );
}

export function useDeleteVersion() {
  return useArtifactChange((version: string) =>
    ok(api.DELETE("/api/v1/artifacts/versions/{version}", { params: { path: { version } } })),
  );
}
