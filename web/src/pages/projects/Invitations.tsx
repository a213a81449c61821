import { useQuery } from "@tanstack/react-query";
import {
  invitationsQuery,
  myInvitationsQuery,
  useAccept,
  useDecline,
  useWithdraw,
} from "@/api/invitations";
import { Button } from "@/parts/Button";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What one is invited to; nothing when there is nothing. */
export function MyInvitations() {
  const { admin: texts } = useTexts();
  const { say, complain } = useMessages();
  const { data } = useQuery(myInvitationsQuery);
  const accept = useAccept();
  const decline = useDecline();
  return data?.map((one) => (
    <div className="panel toolbar" key={one.id}>
      <span>{texts.invitedTo(one.project, texts.roles[one.role], one.invited_by)}</span>
      <Button
        kind="primary"
        isBusy={accept.isPending}
        onClick={() => {
          accept.mutate(one.id, {
            onSuccess: () => {
              say(texts.joined(one.project));
            },
            onError: complain,
          });
        }}
      >
        {texts.accept}
      </Button>
      <Button
        isBusy={decline.isPending}
        onClick={() => {
          decline.mutate(one.id, { onError: complain });
        }}
      >
        {texts.decline}
      </Button>
    </div>
  ));
}

/** Who is invited to a project and has not answered. For its owners. */
export function Invited(props: { project: string }) {
  const { admin: texts } = useTexts();
  const { complain } = useMessages();
  const { data } = useQuery(invitationsQuery(props.project));
  const withdraw = useWithdraw();
  if (!data?.length) return null;
  return (
    <div className="toolbar" aria-label={texts.invited}>
      <span>{texts.invited}</span>
      {data.map((one) => (
        <span className="tag" key={one.id}>
          {one.user} ({texts.roles[one.role]}){" "}
          <Button
            isSmall
            onClick={() => {
              withdraw.mutate({ project: props.project, user: one.user }, { onError: complain });
            }}
          >
            {texts.withdraw}
          </Button>
        </span>
      ))}
    </div>
  );
}
