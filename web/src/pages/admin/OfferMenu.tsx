import { useState } from "react";
import { Confirm } from "@/parts/Dialog";
import { Menu, MenuItem } from "@/parts/Menu";
import { useTexts } from "@/texts/language";

/** What an admin can do about a flavor or a framework. */
export function OfferMenu(props: {
  name: string;
  isEnabled: boolean;
  isBusy: boolean;
  onChange: () => void;
  onEnable: (isEnabled: boolean) => void;
  onRemove: (done: () => void) => void;
}) {
  const { flavors: texts } = useTexts();
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      <Menu label={texts.actions(props.name)} icon="more" className="button plain small icon-only">
        <MenuItem icon="edit" onChoose={props.onChange}>
          {texts.change}
        </MenuItem>
        <MenuItem
          icon={props.isEnabled ? "pause" : "check"}
          onChoose={() => {
            props.onEnable(!props.isEnabled);
          }}
        >
          {props.isEnabled ? texts.disable : texts.enable}
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
          title={texts.removeTitle(props.name)}
          text={<p>{texts.removeText}</p>}
          action={texts.remove}
          isDanger
          isBusy={props.isBusy}
          onClose={() => {
            setIsAsked(false);
          }}
          onConfirm={() => {
            props.onRemove(() => {
              setIsAsked(false);
            });
          }}
        />
      )}
    </>
  );
}
