import { useState } from "react";
import { Confirm } from "@/parts/Dialog";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

type After = { onSuccess: () => void; onError: (error: unknown) => void; onSettled?: () => void };

/** What an admin can do about a flavor or a framework. */
export function OfferMenu(props: {
  of: { name: string; is_enabled: boolean };
  change: { mutate: (to: { name: string; is_enabled: boolean }, after: After) => void };
  remove: { mutate: (name: string, after: After) => void; isPending: boolean };
  onEdit: () => void;
}) {
  const { name, is_enabled: isEnabled } = props.of;
  const { flavors: texts } = useTexts();
  const { say, complain } = useMessages();
  const [isAsked, setIsAsked] = useState(false);
  const close = () => {
    setIsAsked(false);
  };
  const after = (told: string): After => ({
    onSuccess: () => {
      say(told);
    },
    onError: complain,
  });
  return (
    <>
      <Menu label={texts.actions(name)} icon="more" className="button plain small icon-only">
        <MenuItem icon="edit" onChoose={props.onEdit}>
          {texts.change}
        </MenuItem>
        <MenuItem
          icon={isEnabled ? "pause" : "check"}
          onChoose={() => {
            props.change.mutate({ name, is_enabled: !isEnabled }, after(texts.changed(name)));
          }}
        >
          {isEnabled ? texts.disable : texts.enable}
        </MenuItem>
        <hr />
        <MenuItem
          icon="trash"
          isDanger
          onChoose={() => {
            setIsAsked(true);
          }}
        >
          {texts.remove}
        </MenuItem>
      </Menu>
      {isAsked && (
        <Confirm
          title={texts.removeTitle(name)}
          text={<p>{texts.removeText}</p>}
          action={texts.remove}
          isDanger
          isBusy={props.remove.isPending}
          onClose={close}
          onConfirm={() => {
            props.remove.mutate(name, { ...after(texts.removed(name)), onSettled: close });
          }}
        />
      )}
    </>
  );
}
