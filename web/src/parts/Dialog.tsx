import { useEffect, useId, useRef, type FormEvent, type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { Notice } from "./Empty";

const MOST_NAMES = 8;

/** A window above the page. The browser keeps the focus inside and closes it with Escape. */
export function Dialog(props: {
  title: string;
  isWide?: boolean;
  /** As large as the window. */
  isLarge?: boolean;
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
      className={props.isLarge ? "dialog large" : props.isWide ? "dialog wide" : "dialog"}
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
  /** What it is done to. Names that the title does not have are listed. */
  names: readonly string[];
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
      <Names names={props.names.filter((name) => !props.title.includes(name))} />
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

function Names(props: { names: readonly string[] }) {
  const { common } = useTexts();
  const { names } = props;
  if (!names.length) return null;
  return (
    <ul className="dialog-names">
      {names.slice(0, MOST_NAMES).map((name) => (
        <li key={name} className="wrap">
          {name}
        </li>
      ))}
      {names.length > MOST_NAMES && (
        <li className="muted">{common.andMore(names.length - MOST_NAMES)}</li>
      )}
    </ul>
  );
}

/** A form in a window of its own. Problems that none of its `fields` shows are told above the buttons. */
export function FormDialog(props: {
  title: string;
  action: string;
  fields: readonly string[];
  error: unknown;
  isBusy: boolean;
  onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  onClose: () => void;
  children: ReactNode;
}) {
  const { common } = useTexts();
  const problem = props.error ? asProblem(props.error) : undefined;
  const isShown = props.fields.some((field) => problem?.fields[field] !== undefined);
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={props.onSubmit}>
        {props.children}
        {problem && !isShown && <Notice kind="bad">{problem.message}</Notice>}
        <div className="actions">
          <Button onClick={props.onClose}>{common.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={props.isBusy}>
            {props.action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
