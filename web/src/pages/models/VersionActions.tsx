import { useState } from "react";
import {
  useDeleteAlias,
  useDeleteModelVersion,
  useSetAlias,
  type ModelVersion,
} from "@/api/models";
import { asProblem } from "@/api/problem";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { CheckField, TextField } from "@/parts/Field";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What can be done with a version of a model. */
export function VersionActions(props: { version: ModelVersion }) {
  const { version } = props;
  const { models: texts } = useTexts();
  const { say, complain } = useMessages();
  const [asked, setAsked] = useState<"alias" | "delete">();
  const [withFiles, setWithFiles] = useState(false);
  const remove = useDeleteModelVersion();
  const dropAlias = useDeleteAlias();
  const setAlias = useSetAlias();
  const name = `${version.model}:${String(version.version)}`;
  const key = { model: version.model, project: version.project };
  const close = () => {
    setAsked(undefined);
  };
  return (
    <>
      <Menu label={name} icon="more" className="button plain small icon-only">
        <MenuItem
          icon="link"
          onChoose={() => {
            setAsked("alias");
          }}
        >
          {texts.setAlias}
        </MenuItem>
        {(version.aliases ?? []).map((alias) => (
          <MenuItem
            key={alias}
            icon="close"
            onChoose={() => {
              dropAlias.mutate(
                { ...key, alias },
                {
                  onSuccess: () => {
                    say(texts.aliasRemoved(alias), () => {
                      setAlias.mutate(
                        { ...key, alias, version: version.version },
                        { onError: complain },
                      );
                    });
                  },
                  onError: complain,
                },
              );
            }}
          >
            {texts.removeAlias(alias)}
          </MenuItem>
        ))}
        <hr />
        <MenuItem
          icon="trash"
          isDanger
          onChoose={() => {
            setAsked("delete");
          }}
        >
          {texts.delete}
        </MenuItem>
      </Menu>
      {asked === "alias" && <AliasDialog version={version} onClose={close} />}
      {asked === "delete" && (
        <Confirm
          title={texts.deleteTitle(name)}
          names={[name]}
          text={
            <>
              <p>{texts.deleteText}</p>
              {version.is_copied && (
                <CheckField
                  label={texts.withFiles}
                  checked={withFiles}
                  onChange={(event) => {
                    setWithFiles(event.target.checked);
                  }}
                />
              )}
            </>
          }
          action={texts.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => {
            remove.mutate(
              { ...key, version: version.version, files: withFiles },
              {
                onSuccess: () => {
                  say(texts.deleted(name));
                },
                onError: complain,
                onSettled: close,
              },
            );
          }}
        />
      )}
    </>
  );
}

function AliasDialog(props: { version: ModelVersion; onClose: () => void }) {
  const { version } = props;
  const { models: texts } = useTexts();
  const { say } = useMessages();
  const [alias, setAlias] = useState("");
  const set = useSetAlias();
  return (
    <FormDialog
      title={texts.aliasTitle(version.version)}
      action={texts.setAlias}
      fields={["alias"]}
      error={set.error}
      isBusy={set.isPending}
      onClose={props.onClose}
      onSubmit={(event) => {
        event.preventDefault();
        set.mutate(
          { model: version.model, project: version.project, alias, version: version.version },
          {
            onSuccess: () => {
              say(texts.aliasSet(alias, version.version));
              props.onClose();
            },
          },
        );
      }}
    >
      <TextField
        label={texts.alias}
        value={alias}
        required
        autoCapitalize="none"
        hint={texts.aliasHint}
        wrong={set.error ? asProblem(set.error).fields.alias : undefined}
        onChange={(event) => {
          setAlias(event.target.value);
        }}
      />
    </FormDialog>
  );
}
