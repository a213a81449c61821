// Users, registrations, projects, quotas, and the audit log.
import { infiniteQueryOptions, queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import { allPages } from "./pages";

export type Person = Schemas["UserOut"];
export type Registration = Schemas["RegistrationOut"];
export type Role = Schemas["RoleName"];
export type AuditEvent = Schemas["AuditOut"];
export type AuditWanted = {
  person?: string;
  object?: string;
  action?: Schemas["Action"];
  project?: string;
  since?: string;
  until?: string;
};
export const ROLES: readonly Role[] = ["owner", "member", "viewer"];

export const registrationsQuery = queryOptions({
  queryKey: ["registrations"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/registrations", { params: { query: { limit: 1000, cursor } } })),
    ),
  refetchInterval: 15_000,
});

export const usersQuery = queryOptions({
  queryKey: ["users"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/users", { params: { query: { limit: 1000, cursor } } })),
    ),
});

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: () =>
    allPages((cursor) =>
      ok(api.GET("/api/v1/projects", { params: { query: { limit: 1000, cursor } } })),
    ),
  staleTime: 60_000,
});

export function projectQuery(project: string) {
  return queryOptions({
    queryKey: ["project", project],
    queryFn: () => ok(api.GET("/api/v1/projects/{project}", { params: { path: { project } } })),
  });
}

export function quotasQuery(project: string) {
  return queryOptions({
    queryKey: ["quotas", project],
    queryFn: () =>
      ok(api.GET("/api/v1/projects/{project}/quotas", { params: { path: { project } } })),
    refetchInterval: 15_000,
  });
}

export function auditQuery(wanted: AuditWanted) {
  return infiniteQueryOptions({
    queryKey: ["audit", wanted],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET("/api/v1/audit", {
          params: { query: { ...wanted, cursor: pageParam, limit: 100 } },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

function usePeopleChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      const names = ["registrations", "users", "projects", "project", "quotas", "audit", "me"];
      await Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })));
    },
  });
}

export function useApprove() {
  return usePeopleChange(({ id, ...body }: Schemas["Approve"] & { id: string }) =>
    ok(
      api.POST("/api/v1/registrations/{registration}/approve", {
        params: { path: { registration: id } },
        body,
      }),
    ),
  );
}

export function useReject() {
  return usePeopleChange((id: string) =>
    ok(
      api.DELETE("/api/v1/registrations/{registration}", {
        params: { path: { registration: id } },
      }),
    ),
  );
}

export function useInvite() {
  return usePeopleChange((body: Schemas["Invite"]) => ok(api.POST("/api/v1/users", { body })));
}

export function useChangeUser() {
  return usePeopleChange(({ user, ...body }: Schemas["ChangeUser"] & { user: string }) =>
    ok(api.PATCH("/api/v1/users/{user}", { params: { path: { user } }, body })),
  );
}

export function useDisable() {
  return usePeopleChange(({ user, ...body }: Schemas["Disable"] & { user: string }) =>
    ok(api.POST("/api/v1/users/{user}/disable", { params: { path: { user } }, body })),
  );
}

export function useEnable() {
  return usePeopleChange((user: string) =>
    ok(api.POST("/api/v1/users/{user}/enable", { params: { path: { user } } })),
  );
}

export function useMakeLink() {
  return usePeopleChange((user: string) =>
    ok(
      api.POST("/api/v1/users/{user}/link", {
        params: { path: { user } },
        body: { ends_access: false },
      }),
    ),
  );
}

export function useMakeProject() {
  return usePeopleChange((body: Schemas["MakeProject"]) =>
    ok(api.POST("/api/v1/projects", { body })),
  );
}

export function useChangeProject() {
  return usePeopleChange(({ project, ...body }: Schemas["ChangeProject"] & { project: string }) =>
    ok(api.PATCH("/api/v1/projects/{project}", { params: { path: { project } }, body })),
  );
}

export function useDeleteProject() {
  return usePeopleChange((project: string) =>
    ok(api.DELETE("/api/v1/projects/{project}", { params: { path: { project } } })),
  );
}

export function useSetMember() {
  return usePeopleChange(({ project, user, role }: { project: string; user: string; role: Role }) =>
    ok(
      api.PUT("/api/v1/projects/{project}/members/{user}", {
        params: { path: { project, user } },
        body: { role },
      }),
    ),
  );
}

export function useRemoveMember() {
  return usePeopleChange(({ project, user }: { project: string; user: string }) =>
    ok(
      api.DELETE("/api/v1/projects/{project}/members/{user}", {
        params: { path: { project, user } },
      }),
    ),
  );
}

export function useSetQuotas(project: string) {
  return usePeopleChange((body: Partial<Schemas["SetQuotas"]>) =>
    ok(
      api.PUT("/api/v1/projects/{project}/quotas", {
        params: { path: { project } },
        body: { users: {}, ...body },
      }),
    ),
  );
}
