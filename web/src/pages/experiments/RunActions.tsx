import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useDeleteRuns, useMoveRuns, useRestoreRuns, type RunSummary } from "@/api/runs";
import { Button, buttonClass } from "@/parts/Button";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { Icon } from "@/parts/Icon";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

export const MOST_COMPARED = 50;

/** What can be done with the runs that are ticked. */
export function RunActions(props: {
  runs: readonly RunSummary[];
  isBin: boolean;
  onBaseline: (run: string) => void;
  onDone: () => void;
}) {
  const { runs: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const [asked, setAsked] = useState<"delete" | "move">();
  const remove = useDeleteRuns();
  const restore = useRestoreRuns();
  const ids = props.runs.map((run) => run.id);
  const count = ids.length;
  const [only] = props.runs;
  const close = () => {
    setAsked(undefined);
  };
  const done = (told: string, undo?: () => void) => () => {
    close();
    say(told, undo);
    props.onDone();
  };
  const takeOut = () => {
    restore.mutateAsync(ids).catch(complain);
  };
  const isTooMany = count > MOST_COMPARED;
  return (
    <>
      <span className="muted number">{common.selected(count)}</span>
      {!props.isBin &&
        (isTooMany || count < 2 ? (
          <Button disabled icon="chart" title={isTooMany ? texts.compareMost : undefined}>
            {texts.compare}
          </Button>
        ) : (
          <Link
            to="/experiments/compare"
            search={{ runs: ids.join() }}
            className={buttonClass("primary")}
          >
            <Icon name="chart" />
            {texts.compareCount(count)}
          </Link>
        ))}
      {!props.isBin && only && count === 1 && (
        <Button
          icon="star"
          onClick={() => {
            props.onBaseline(only.id);
          }}
        >
          {texts.setBaseline}
        </Button>
      )}
      {props.isBin ? (
        <Button
          icon="again"
          isBusy={restore.isPending}
          onClick={() => {
            restore.mutate(ids, { onSuccess: done(texts.restored(count)), onError: complain });
          }}
        >
          {texts.restore}
        </Button>
      ) : (
        <Button
          icon="folder"
          onClick={() => {
            setAsked("move");
          }}
        >
          {texts.move}
        </Button>
      )}
      <Button
        icon="trash"
        onClick={() => {
          setAsked("delete");
        }}
      >
        {props.isBin ? texts.purge : texts.toBin}
      </Button>
      {isTooMany && <span className="small muted">{texts.compareMost}</span>}
      {asked === "delete" && (
        <Confirm
          title={props.isBin ? texts.purgeTitle(count) : texts.toBinTitle(count)}
          names={props.runs.map((run) => `${run.name} (${run.id})`)}
          text={props.isBin ? texts.purgeText : texts.toBinText}
          action={props.isBin ? texts.purge : texts.toBin}
          isDanger
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => {
            remove.mutate(
              { runs: ids, purge: props.isBin },
              {
                onSuccess: props.isBin
                  ? done(texts.purged(count))
                  : done(texts.binned(count), takeOut),
                onError: complain,
              },
            );
          }}
        />
      )}
      {asked === "move" && (
        <MoveDialog
          runs={props.runs}
          onClose={close}
          onDone={(undo) => {
            done(texts.moved(count), undo)();
          }}
        />
      )}
    </>
  );
}

function MoveDialog(props: {
  runs: readonly RunSummary[];
  onClose: () => void;
  onDone: (undo: () => void) => void;
}) {
  const { runs: texts } = useTexts();
  const { complain } = useMessages();
  const [folder, setFolder] = useState(props.runs[0]?.folder ?? "");
  const move = useMoveRuns();
  const moveBack = () => {
    move.mutateAsync(props.runs).catch(complain);
  };
  return (
    <FormDialog
      title={texts.moveTitle(props.runs.length)}
      action={texts.move}
      fields={[]}
      error={move.error}
      isBusy={move.isPending}
      onClose={props.onClose}
      onSubmit={(event) => {
        event.preventDefault();
        const moved = props.runs.map(({ id }) => ({ id, folder }));
        move.mutate(moved, {
          onSuccess: () => {
            props.onDone(moveBack);
          },
        });
      }}
    >
      <TextField
        label={texts.moveTo}
        hint={texts.moveHint}
        value={folder}
        onChange={(event) => {
          setFolder(event.target.value);
        }}
      />
    </FormDialog>
  );
}
