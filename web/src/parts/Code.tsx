import { useState } from "react";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { useMessages } from "./Messages";

/** Text as it is, with a button that copies it. */
export function Code(props: { text: string; isWrapped?: boolean; label?: string }) {
  const { common } = useTexts();
  return (
    <div className="copyable">
      <pre
        className={props.isWrapped ? "code wrapped" : "code"}
        tabIndex={0}
        role="region"
        aria-label={props.label ?? common.code}
      >
        {props.text}
      </pre>
      <CopyButton text={props.text} />
    </div>
  );
}

export function CopyButton(props: { text: string }) {
  const { common } = useTexts();
  const { complain } = useMessages();
  const [isDone, setIsDone] = useState(false);
  return (
    <Button
      isSmall
      icon={isDone ? "check" : "copy"}
      label={isDone ? common.copied : common.copy}
      onClick={() => {
        copyText(props.text).then(() => {
          setIsDone(true);
          setTimeout(() => {
            setIsDone(false);
          }, 2_000);
        }, complain);
      }}
    />
  );
}

/** Into the clipboard. */
export async function copyText(text: string): Promise<void> {
  // plain HTTP beyond this machine has no clipboard
  if ("clipboard" in navigator) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
