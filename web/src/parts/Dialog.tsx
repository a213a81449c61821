import { useEffect, useId, useRef, type FormEvent, type ReactNode } from "react";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";

/** A window above the page. The browser keeps the focus inside and closes it with Escape. */
export function Dialog(props: {
  title: string;
  isWide?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={props.isWide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) props.onClose();
      }}
    >
      <div className="dialog-body">
        <h2 id={id}>{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}

/** Asks before something that cannot be taken back. */
export function Confirm(props: {
  title: string;
  text: ReactNode;
  action: string;
  isDanger?: boolean;
  isBusy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const { common } = useTexts();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.onConfirm();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div className="muted">{props.text}</div>
      <form className="actions" onSubmit={submit}>
        <Button onClick={props.onClose}>{common.cancel}</Button>
        <Button type="submit" kind={props.isDanger ? "danger" : "primary"} isBusy={props.isBusy}>
          {props.action}
        </Button>
      </form>
    </Dialog>
  );
}
