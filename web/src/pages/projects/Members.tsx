import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import type { Schemas } from "@/api/client";
import { useInviteMember } from "@/api/invitations";
import { ROLES, usersQuery, useRemoveMember, useSetMember, type Role } from "@/api/people";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { Confirm } from "@/parts/Dialog";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { Invited } from "./Invitations";

type Project = Schemas["ProjectOut"];

/** Who is in a project, and as what. */
export function Members(props: { project: Project; isOwner: boolean }) {
  const { project, isOwner } = props;
  const { admin: texts } = useTexts();
  const me = useMe();
  const { say, complain } = useMessages();
  const set = useSetMember();
  const remove = useRemoveMember();
  const [leaving, setLeaving] = useState<string>();
  return (
    <>
      {isOwner && <AddMember project={project} />}
      {isOwner && <Invited project={project.name} />}
      <DataTable
        label={texts.members}
        rows={project.members}
        rowId={(member) => member.name}
        columns={[
          { id: "name", title: texts.name, cell: (member) => <strong>{member.name}</strong> },
          {
            id: "full_name",
            title: texts.fullName,
            isWideOnly: true,
            cell: (member) => member.full_name || "–",
          },
          {
            id: "role",
            title: texts.role,
            cell: (member) =>
              isOwner ? (
                <select
                  className="input fit"
                  aria-label={`${texts.role}: ${member.name}`}
                  value={member.role}
                  onChange={(event) => {
                    const change = { project: project.name, user: member.name };
                    set.mutate(
                      { ...change, role: event.target.value as Role },
                      {
                        onSuccess: () => {
                          say(texts.changed(member.name), () => {
                            set.mutateAsync({ ...change, role: member.role }).catch(complain);
                          });
                        },
                        onError: complain,
                      },
                    );
                  }}
                >
                  {ROLES.map((role) => (
                    <option key={role} value={role}>
                      {texts.roles[role]}
                    </option>
                  ))}
                </select>
              ) : (
                texts.roles[member.role]
              ),
          },
          {
            id: "actions",
            title: "",
            isEnd: true,
            cell: (member) =>
              (isOwner || member.name === me.name) && (
                <Button
                  isSmall
                  onClick={() => {
                    setLeaving(member.name);
                  }}
                >
                  {member.name === me.name ? texts.leave : texts.remove}
                </Button>
              ),
          },
        ]}
      />
      {leaving !== undefined && (
        <Confirm
          title={texts.removeTitle(leaving)}
          names={[leaving]}
          text={texts.removeText}
          action={texts.remove}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setLeaving(undefined);
          }}
          onConfirm={() => {
            remove.mutate(
              { project: project.name, user: leaving },
              {
                onSuccess: () => {
                  say(texts.removed(leaving));
                },
                onError: complain,
                onSettled: () => {
                  setLeaving(undefined);
                },
              },
            );
          }}
        />
      )}
    </>
  );
}

function AddMember(props: { project: Project }) {
  const { admin: texts } = useTexts();
  const { say, complain } = useMessages();
  const { data: users } = useQuery(usersQuery);
  const { is_admin: isAdmin } = useMe();
  const set = useSetMember();
  const invite = useInviteMember();
  const known = new Set(props.project.members.map((member) => member.name));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const user = String(data.get("user")).trim();
    // an admin adds people; owners ask them, and are not told whether there is such a person
    const change = isAdmin ? set : invite;
    change.mutate(
      { project: props.project.name, user, role: String(data.get("role")) as Role },
      {
        onSuccess: () => {
          say(isAdmin ? texts.added(user) : texts.invitationSent(user));
          form.reset();
        },
        onError: complain,
      },
    );
  };
  return (
    <form className="toolbar" onSubmit={submit}>
      <input
        className="input fit"
        name="user"
        list="people"
        required
        aria-label={texts.name}
        placeholder={texts.name}
        autoCapitalize="none"
        autoComplete="off"
      />
      <datalist id="people">
        {(users ?? [])
          .filter((user) => !known.has(user.name))
          .map((user) => (
            <option key={user.name} value={user.name}>
              {user.full_name}
            </option>
          ))}
      </datalist>
      <select className="input fit" name="role" aria-label={texts.role} defaultValue="member">
        {ROLES.map((role) => (
          <option key={role} value={role}>
            {texts.roles[role]}
          </option>
        ))}
      </select>
      <Button type="submit" icon="plus" isBusy={set.isPending || invite.isPending}>
        {isAdmin ? texts.addMember : texts.inviteMember}
      </Button>
    </form>
  );
}
