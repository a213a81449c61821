import { useRef } from "react";
import { Button } from "@/parts/Button";
import { pickedFrom, type Picked } from "@/parts/picked";
import { useTexts } from "@/texts/language";

/** Choosing files or a folder of this machine. */
export function FileButtons(props: { onPick: (picked: Picked[]) => void; isBusy: boolean }) {
  const { store: texts } = useTexts();
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const input = (ref: typeof files, isFolder: boolean) => (
    <input
      ref={ref}
      type="file"
      multiple
      hidden
      aria-label={isFolder ? texts.uploadFolder : texts.upload}
      {...(isFolder ? { webkitdirectory: "" } : {})}
      onChange={(event) => {
        if (event.target.files) props.onPick(pickedFrom(event.target.files));
        event.target.value = "";
      }}
    />
  );
  return (
    <>
      {input(files, false)}
      {input(folder, true)}
      <Button icon="folder" disabled={props.isBusy} onClick={() => folder.current?.click()}>
        {texts.uploadFolder}
      </Button>
      <Button
        icon="upload"
        kind="primary"
        disabled={props.isBusy}
        onClick={() => files.current?.click()}
      >
        {texts.upload}
      </Button>
    </>
  );
}
