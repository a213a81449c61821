import { useState } from "react";
import { isOver, useDeleteJobs, useStopJobs, whyRefused, type JobSummary } from "@/api/jobs";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Dialog";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What can be done with the jobs that are ticked. */
export function BulkActions(props: { jobs: readonly JobSummary[]; onDone: () => void }) {
  const { jobs: texts, common, messages } = useTexts();
  const { say, complain } = useMessages();
  const [asked, setAsked] = useState<"stop" | "delete">();
  const stop = useStopJobs();
  const remove = useDeleteJobs();
  const open = props.jobs.filter((job) => !isOver(job.state));
  const over = props.jobs.filter((job) => isOver(job.state));

  const finish = (told: string, why: readonly string[]) => {
    setAsked(undefined);
    say(told);
    if (why.length)
      complain(new Error(`${texts.refused(why.length)}${messages.of}${why[0] ?? ""}`));
    props.onDone();
  };
  return (
    <>
      <span className="muted number">{common.selected(props.jobs.length)}</span>
      <Button
        icon="stop"
        disabled={!open.length}
        onClick={() => {
          setAsked("stop");
        }}
      >
        {texts.stop}
      </Button>
      <Button
        icon="trash"
        disabled={!over.length}
        onClick={() => {
          setAsked("delete");
        }}
      >
        {common.delete}
      </Button>
      {asked === "stop" && (
        <Confirm
          title={texts.stopTitle(open.length)}
          names={open.map((job) => `${job.name} (${job.id})`)}
          text={texts.stopText}
          action={texts.stop}
          isDanger
          isBusy={stop.isPending}
          onClose={() => {
            setAsked(undefined);
          }}
          onConfirm={() => {
            stop.mutate(
              open.map((job) => job.id),
              {
                onSuccess: (selected) => {
                  finish(texts.stopped(selected.done.length), whyRefused(selected));
                },
                onError: complain,
              },
            );
          }}
        />
      )}
      {asked === "delete" && (
        <Confirm
          title={texts.deleteTitle(over.length)}
          names={over.map((job) => `${job.name} (${job.id})`)}
          text={texts.deleteText}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setAsked(undefined);
          }}
          onConfirm={() => {
            remove.mutate(
              over.map((job) => job.id),
              {
                onSuccess: (selected) => {
                  finish(texts.deleted(selected.done.length), whyRefused(selected));
                },
                onError: complain,
              },
            );
          }}
        />
      )}
    </>
  );
}
