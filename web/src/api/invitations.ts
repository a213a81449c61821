// Invitations to projects: an owner asks, the person accepts or declines; and one's own default project.
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useMutation } from "./change";
import { api, ok, type Schemas } from "./client";
import type { Role } from "./people";

export type Invitation = Schemas["InvitationOut"];

export const myInvitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: async () => (await ok(api.GET("/api/v1/invitations"))).items,
  refetchInterval: 60_000,
});

export function invitationsQuery(project: string) {
  return queryOptions({
    queryKey: ["invitations", project],
    queryFn: async () =>
      (
        await ok(
          api.GET("/api/v1/projects/{project}/invitations", { params: { path: { project } } }),
        )
      ).items,
  });
}

function useInvitationChange<Body, Answer>(change: (body: Body) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: async () => {
      const names = ["invitations", "projects", "project", "me"];
      await Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })));
    },
  });
}

export function useInviteMember() {
  return useInvitationChange(
    ({ project, ...body }: { project: string; user: string; role: Role }) =>
      ok(
        api.POST("/api/v1/projects/{project}/invitations", {
          params: { path: { project } },
          body,
        }),
      ),
  );
}

export function useWithdraw() {
  return useInvitationChange(({ project, user }: { project: string; user: string }) =>
    ok(
      api.DELETE("/api/v1/projects/{project}/invitations/{user}", {
        params: { path: { project, user } },
      }),
    ),
  );
}

export function useAccept() {
  return useInvitationChange((invitation: string) =>
    ok(api.POST("/api/v1/invitations/{invitation}/accept", { params: { path: { invitation } } })),
  );
}

export function useDecline() {
  return useInvitationChange((invitation: string) =>
    ok(api.DELETE("/api/v1/invitations/{invitation}", { params: { path: { invitation } } })),
  );
}

export function useSetDefaultProject() {
  return useInvitationChange((project: string) =>
    ok(api.PUT("/api/v1/me/default-project", { body: { project } })),
  );
}
