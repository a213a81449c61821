import { useState } from "react";
import { useChangeUser, useDisable, useEnable, useMakeLink, type Person } from "@/api/people";
import { useMe } from "@/api/session";
import { Confirm } from "@/parts/Dialog";
import { CheckField } from "@/parts/Field";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { LinkDialog } from "./LinkDialog";

/** What an admin can do with a user. */
export function PersonMenu(props: { person: Person }) {
  const { person } = props;
  const { admin: texts } = useTexts();
  const me = useMe();
  const { say, complain } = useMessages();
  const [isAsked, setIsAsked] = useState(false);
  const [stopsJobs, setStopsJobs] = useState(false);
  const change = useChangeUser();
  const disable = useDisable();
  const enable = useEnable();
  const link = useMakeLink();
  const isMe = me.name === person.name;
  return (
    <>
      <Menu label={texts.actions(person.name)} icon="more" className="button plain small icon-only">
        <MenuItem
          icon="link"
          onChoose={() => {
            link.mutate(person.name, { onError: complain });
          }}
        >
          {texts.newLink}
        </MenuItem>
        <MenuItem
          icon="admin"
          isDisabled={isMe}
          onChoose={() => {
            change.mutate(
              { user: person.name, is_admin: !person.is_admin },
              {
                onSuccess: () => {
                  say(texts.changed(person.name));
                },
                onError: complain,
              },
            );
          }}
        >
          {person.is_admin ? texts.noAdmin : texts.makeAdmin}
        </MenuItem>
        <hr />
        {person.state === "disabled" ? (
          <MenuItem
            icon="check"
            onChoose={() => {
              enable.mutate(person.name, {
                onSuccess: () => {
                  say(texts.enabled(person.name));
                },
                onError: complain,
              });
            }}
          >
            {texts.enable}
          </MenuItem>
        ) : (
          <MenuItem
            icon="close"
            isDanger
            isDisabled={isMe}
            onChoose={() => {
              setIsAsked(true);
            }}
          >
            {texts.disable}
          </MenuItem>
        )}
      </Menu>
      {isAsked && (
        <Confirm
          title={texts.disableTitle(person.name)}
          names={[person.name]}
          text={
            <>
              <p>{texts.disableText}</p>
              <CheckField
                label={texts.stopsJobs}
                checked={stopsJobs}
                onChange={(event) => {
                  setStopsJobs(event.target.checked);
                }}
              />
            </>
          }
          action={texts.disable}
          isDanger
          isBusy={disable.isPending}
          onClose={() => {
            setIsAsked(false);
          }}
          onConfirm={() => {
            disable.mutate(
              { user: person.name, stops_jobs: stopsJobs },
              {
                onSuccess: () => {
                  say(texts.disabled(person.name));
                  setIsAsked(false);
                },
                onError: complain,
              },
            );
          }}
        />
      )}
      {link.data && (
        <LinkDialog
          user={person.name}
          url={link.data.url}
          onClose={() => {
            link.reset();
          }}
        />
      )}
    </>
  );
}
