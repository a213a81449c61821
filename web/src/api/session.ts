// Who is signed in. The session itself is a cookie that scripts cannot read.
import { queryOptions, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, setCsrf, type Schemas } from "./client";
import { dropDrafts } from "@/parts/draft";
import { ApiProblem } from "./problem";

export type Me = Schemas["MeOut"];

/** Null when not signed in. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async (): Promise<Me | null> => {
    try {
      const me = await ok(api.GET("/api/v1/me"));
      setCsrf(me.csrf);
      return me;
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

/** Below the sign-in guard only. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (!data) throw new ApiProblem(401, "NotSignedIn", "", {});
  return data;
}

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["SignIn"]) => ok(api.POST("/api/v1/session", { body })),
    onSuccess: async (session) => {
      setCsrf(session.csrf);
      client.clear();
      await client.fetchQuery(meQuery);
    },
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => ok(api.DELETE("/api/v1/session")),
    onSettled: () => {
      dropDrafts();
      setCsrf("");
      client.clear();
      client.setQueryData(meQuery.queryKey, null);
    },
  });
}

export function useRegister() {
  return useMutation({
    mutationFn: (body: Schemas["Register"]) => ok(api.POST("/api/v1/registrations", { body })),
  });
}

/** How one gets in here; open to all. */
export const waysInQuery = queryOptions({
  queryKey: ["health"],
  queryFn: () => ok(api.GET("/api/v1/health")),
  staleTime: Infinity,
});
