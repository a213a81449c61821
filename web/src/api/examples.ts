import { queryOptions } from "@tanstack/react-query";
import { digestOf } from "@/code/hash";
import { api, ok, type Schemas } from "./client";
import { sendTree } from "./trees";

export type ExampleRow = Schemas["ExampleRow"];
export type Example = Schemas["ExampleOut"];
export type Need = Schemas["NeedOut"];

export const examplesQuery = queryOptions({
  queryKey: ["examples"],
  queryFn: async () => (await ok(api.GET("/api/v1/examples"))).items,
  staleTime: 60_000,
});

export function exampleQuery(name: string) {
  return queryOptions({
    queryKey: ["example", name],
    queryFn: () =>
      ok(api.GET("/api/v1/examples/{example}", { params: { path: { example: name } } })),
    staleTime: 60_000,
  });
}

/** An example ready to be submitted: its code has been brought to the person's project, as any code is. */
export function usableExampleQuery(name: string) {
  return queryOptions({
    queryKey: ["usable example", name],
    queryFn: async ({ signal }) => {
      const example = await ok(
        api.GET("/api/v1/examples/{example}", { params: { path: { example: name } }, signal }),
      );
      const spec = { ...example.job };
      if (example.code_folder != null)
        spec.code = { tree: await sendTree(await codeOf(example), signal) };
      return { example, spec };
    },
    staleTime: 60_000,
  });
}

function codeOf(example: Example) {
  const below = example.code_folder === "." ? "" : `${example.code_folder ?? ""}/`;
  const code = example.files.filter((file) => file.is_code);
  return Promise.all(
    code.map(async (file) => {
      const bytes = new Blob([file.text]);
      return {
        path: file.path.slice(below.length),
        sha256: await digestOf(bytes),
        size: bytes.size,
        is_executable: file.is_executable ?? false,
        bytes,
      };
    }),
  );
}
