import { useQueryClient } from "@tanstack/react-query";
import { useMutation } from "@/api/change";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, ok } from "@/api/client";
import { isOver, jobQuery, useDeleteJobs, whyRefused, type Job } from "@/api/jobs";
import { useMe } from "@/api/session";
import { Button, buttonClass } from "@/parts/Button";
import { Confirm } from "@/parts/Dialog";
import { Icon } from "@/parts/Icon";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { RegisterModel } from "@/parts/RegisterModel";
import { useTexts } from "@/texts/language";

const CHANGES = {
  stop: "/api/v1/jobs/{job}/stop",
  pause: "/api/v1/jobs/{job}/pause",
  resume: "/api/v1/jobs/{job}/resume",
  start: "/api/v1/jobs/{job}/start",
} as const;
type Change = keyof typeof CHANGES;
const UNDONE_BY: Partial<Record<Change, Change>> = { pause: "resume", resume: "pause" };

/** What a user may do with a job in its state. */
export function JobActions(props: { job: Job }) {
  const { job } = props;
  const { job: texts, models, common } = useTexts();
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { say, complain } = useMessages();
  const [asked, setAsked] = useState<"stop" | "delete" | "register">();
  const remove = useDeleteJobs();
  const change = useMutation({
    mutationFn: (what: Change) =>
      ok(api.POST(CHANGES[what], { params: { path: { job: job.id } } })),
    onSuccess: (after, what) => {
      client.setQueryData(jobQuery(job.id).queryKey, after);
      setAsked(undefined);
      const back = UNDONE_BY[what];
      say(
        texts.asked[what],
        back &&
          (() => {
            change.mutate(back);
          }),
      );
    },
    onError: complain,
  });
  const role = me.roles[job.project];
  const mayChange = me.is_admin || role === "owner" || (role === "member" && job.owner === me.name);
  const maySubmit = me.is_admin || role === "owner" || role === "member";
  const isDone = isOver(job.state);
  const wantsEnd = job.desired === "stop" || job.state === "stopping";
  const grace = Number(job.spec.grace ?? 30);
  const act = (what: Change) => () => {
    change.mutate(what);
  };
  return (
    <>
      {mayChange && !isDone && job.state !== "paused" && !wantsEnd && job.desired === "run" && (
        <Button icon="pause" isBusy={change.isPending} onClick={act("pause")}>
          {texts.pause}
        </Button>
      )}
      {mayChange && !isDone && (job.state === "paused" || job.desired === "pause") && (
        <Button icon="play" isBusy={change.isPending} onClick={act("resume")}>
          {texts.resume}
        </Button>
      )}
      {mayChange && !isDone && (
        <Button
          icon="stop"
          disabled={wantsEnd}
          onClick={() => {
            setAsked("stop");
          }}
        >
          {texts.stop}
        </Button>
      )}
      {mayChange && isDone && (
        <Button icon="again" isBusy={change.isPending} onClick={act("start")}>
          {texts.again}
        </Button>
      )}
      {maySubmit && (
        <Link to="/submit" search={{ from: job.id }} className={buttonClass()}>
          <Icon name="copy" />
          {texts.clone}
        </Link>
      )}
      {maySubmit && job.state === "succeeded" && (
        <Button
          icon="models"
          onClick={() => {
            setAsked("register");
          }}
        >
          {models.register}
        </Button>
      )}
      {mayChange && isDone && (
        <Menu label={common.more} icon="more">
          <MenuItem
            icon="trash"
            isDanger
            onChoose={() => {
              setAsked("delete");
            }}
          >
            {common.delete}
          </MenuItem>
        </Menu>
      )}
      {asked === "register" && (
        <RegisterModel
          name={job.name}
          source="job"
          of={job.id}
          project={job.project}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
      {asked === "stop" && (
        <Confirm
          title={texts.stopTitle}
          names={[`${job.name} (${job.id})`]}
          text={texts.stopText(grace)}
          action={texts.stop}
          isDanger
          isBusy={change.isPending}
          onConfirm={act("stop")}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
      {asked === "delete" && (
        <Confirm
          title={texts.deleteTitle}
          names={[`${job.name} (${job.id})`]}
          text={texts.deleteText}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onConfirm={() => {
            remove.mutate([job.id], {
              onSuccess: (selected) => {
                const [why] = whyRefused(selected);
                if (why !== undefined) {
                  complain(new Error(why));
                  return;
                }
                say(texts.asked.delete);
                void navigate({ to: "/jobs" });
              },
              onError: complain,
            });
          }}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
    </>
  );
}
