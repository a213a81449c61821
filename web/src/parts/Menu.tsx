import { useId, useRef, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { buttonClass } from "./Button";

const GAP = 4;

/** A button that opens a list. The browser closes it with Escape and on a click elsewhere. */
export function Menu(props: {
  label: string;
  icon?: IconName;
  /** What the button shows; without it, the icon alone. */
  shown?: ReactNode;
  className?: string;
  isDisabled?: boolean;
  /** Stays open when something in it is clicked: a list of ticks. */
  isSticky?: boolean;
  children: ReactNode;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  const place = () => {
    const from = button.current?.getBoundingClientRect();
    const box = list.current;
    if (!from || !box) return;
    const { width, height } = box.getBoundingClientRect();
    const below = from.bottom + GAP + height <= window.innerHeight;
    const top = below ? from.bottom + GAP : Math.max(GAP, from.top - GAP - height);
    const left = Math.min(Math.max(GAP, from.left), window.innerWidth - width - GAP);
    box.style.top = `${String(top)}px`;
    box.style.left = `${String(left)}px`;
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !list.current) return;
    event.preventDefault();
    const found = [...list.current.querySelectorAll<HTMLElement>("button:enabled, a, input")];
    const at = found.indexOf(document.activeElement as HTMLElement);
    found[(at + step + found.length) % found.length]?.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        className={
          props.className ?? buttonClass("normal", { isIconOnly: props.shown === undefined })
        }
        popoverTarget={id}
        aria-label={props.shown === undefined ? props.label : undefined}
        title={props.shown === undefined ? props.label : undefined}
        aria-haspopup="true"
        disabled={props.isDisabled}
      >
        {props.icon && <Icon name={props.icon} />}
        {props.shown}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu"
        role="group"
        aria-label={props.label}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          list.current?.querySelector<HTMLElement>("button:enabled, a, input")?.focus();
        }}
        onKeyDown={move}
        onClick={(event) => {
          const chosen = (event.target as HTMLElement).closest("button, a");
          if (chosen && !props.isSticky) list.current?.hidePopover();
        }}
      >
        {props.children}
      </div>
    </>
  );
}

export function MenuItem(props: {
  icon?: IconName;
  isDanger?: boolean;
  isDisabled?: boolean;
  isChosen?: boolean;
  onChoose: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className={props.isDanger ? "danger" : undefined}
      disabled={props.isDisabled}
      aria-pressed={props.isChosen}
      onClick={props.onChoose}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
      {props.isChosen && (
        <span className="mark">
          <Icon name="check" />
        </span>
      )}
    </button>
  );
}
