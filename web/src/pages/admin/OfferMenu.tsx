import { useState } from "react";
import { Confirm } from "@/parts/Dialog";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What flavors and frameworks have in common. */
export type Offer = { name: string; is_enabled: boolean; description: string };

type Mutate<Body> = (
  body: Body,
  then: { onSuccess: () => void; onError: (error: unknown) => void; onSettled?: () => void },
) => void;

/** The ways to change them. */
export type OfferChanges = {
  change: { mutate: Mutate<{ name: string; is_enabled: boolean }> };
  remove: { mutate: Mutate<string>; isPending: boolean };
};

/** What an admin can do about a flavor or a framework. */
export function OfferMenu(props: { offer: Offer; changes: OfferChanges; onEdit: () => void }) {
  const { name, is_enabled: isEnabled } = props.offer;
  const { change, remove } = props.changes;
  const { flavors: texts } = useTexts();
  const { say, complain } = useMessages();
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      <Menu label={texts.actions(name)} icon="more" className="button plain small icon-only">
        <MenuItem icon="edit" onChoose={props.onEdit}>
          {texts.change}
        </MenuItem>
        <MenuItem
          icon={isEnabled ? "pause" : "check"}
          onChoose={() => {
            const onSuccess = () => {
              say(texts.changed(name));
            };
            change.mutate({ name, is_enabled: !isEnabled }, { onSuccess, onError: complain });
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
          names={[name]}
          text={<p>{texts.removeText}</p>}
          action={texts.remove}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setIsAsked(false);
          }}
          onConfirm={() => {
            remove.mutate(name, {
              onSuccess: () => {
                say(texts.removed(name));
              },
              onError: complain,
              onSettled: () => {
                setIsAsked(false);
              },
            });
          }}
        />
      )}
    </>
  );
}
