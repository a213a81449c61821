import {
  memo,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type ClipboardEvent,
  type KeyboardEvent,
} from "react";
import { asProblem } from "@/api/problem";
import { openShell, type OpenShell, type TerminalSize } from "@/api/terminals";
import { Notice } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { LineText } from "../logs/LogLine";
import type { Row } from "../logs/terminal";
import { sentBy } from "./keys";
import { Screen, type Shown } from "./screen";
import styles from "./terminal.module.css";

const LINE_PX = 19;
const PADDING_PX = 20;
const BAR_PX = 16; // the scroll bar, once there is one

type Open = { screen: Screen; shell: OpenShell };
type End = { code: number } | { error: unknown };

/** One shell, from its start to its end; leaving the page closes it. */
export function Shell(props: { job: string; rank: number }) {
  const { job, rank } = props;
  const { terminal: texts, common } = useTexts();
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<Open>();
  const [end, setEnd] = useState<End>();
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let isGone = false;
    let made: Open | undefined;
    const begin = async () => {
      const size = sizeOf(element);
      const screen = await Screen.open(size, (data) => made?.shell.send(data));
      const shell = await openShell(
        { job, rank, size },
        (bytes) => {
          screen.write(bytes);
        },
        setEnd,
      );
      made = { screen, shell };
      if (isGone) leave(made);
      else setOpen(made);
    };
    begin().catch((error: unknown) => {
      if (!isGone) setEnd({ error });
    });
    let last = "";
    const observer = new ResizeObserver(() => {
      const size = sizeOf(element);
      const next = JSON.stringify(size);
      if (!made || next === last) return;
      last = next;
      made.screen.resize(size);
      made.shell.resize(size);
    });
    observer.observe(element);
    return () => {
      isGone = true;
      observer.disconnect();
      if (made) leave(made);
    };
  }, [job, rank]);
  return (
    <>
      <div className={`panel ${styles.terminal ?? ""}`} ref={box} data-over={end !== undefined}>
        {open && <Rows open={open} isOver={end !== undefined} />}
      </div>
      {end &&
        ("code" in end ? (
          <Notice>{texts.ended(end.code)}</Notice>
        ) : (
          <div role="alert">
            <Notice kind="bad">{asProblem(end.error).message || common.unreachableTitle}</Notice>
          </div>
        ))}
    </>
  );
}

function leave(open: Open): void {
  open.shell.close();
  open.screen.close();
}

/** How many characters fit, measured with some of them. */
function sizeOf(element: HTMLElement): TerminalSize {
  const probe = document.createElement("span");
  probe.textContent = "0".repeat(100);
  probe.className = styles.probe ?? "";
  element.append(probe);
  const width = probe.getBoundingClientRect().width / 100 || 8;
  probe.remove();
  const fits = (room: number, one: number, least: number) =>
    Math.min(500, Math.max(least, Math.floor((room - PADDING_PX) / one)));
  return {
    columns: fits(element.clientWidth - BAR_PX, width, 20),
    rows: fits(element.clientHeight, LINE_PX, 5),
  };
}

function Rows(props: { open: Open; isOver: boolean }) {
  const { screen, shell } = props.open;
  const { terminal: texts } = useTexts();
  const shown: Shown = useSyncExternalStore(screen.subscribe, screen.getShown);
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, [shown]);
  useEffect(() => {
    field.current?.focus();
  }, []);
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.ctrlKey && event.key === "c" && hasSelection()) return; // it copies
    const data = sentBy(event, screen.isApplication);
    if (data === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    shell.send(data);
  };
  const typed = (element: HTMLTextAreaElement) => {
    if (element.value) shell.send(element.value);
    element.value = "";
  };
  const paste = (event: ClipboardEvent) => {
    event.preventDefault();
    const text = event.clipboardData.getData("text/plain").replace(/\r?\n/g, "\r");
    shell.send(screen.isBracketed ? `\u001b[200~${text}\u001b[201~` : text);
  };
  const { cursor } = shown;
  return (
    <div
      ref={box}
      className={styles.screen}
      onClick={() => {
        // a click that has marked something is for copying
        if (!hasSelection()) field.current?.focus();
      }}
    >
      <div className={styles.rows} role="log" aria-label={texts.title}>
        {shown.rows.map((row, at) => (
          <ScreenRow key={at} row={row} />
        ))}
        {cursor && !props.isOver && (
          <span
            className={styles.cursor}
            style={{ top: cursor.row * LINE_PX, left: `${String(cursor.column)}ch` }}
          />
        )}
        <textarea
          ref={field}
          className={styles.field}
          style={{ top: (cursor?.row ?? 0) * LINE_PX, left: `${String(cursor?.column ?? 0)}ch` }}
          aria-label={texts.input}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          disabled={props.isOver}
          onKeyDown={press}
          onPaste={paste}
          onInput={(event) => {
            if (!(event.nativeEvent as InputEvent).isComposing) typed(event.currentTarget);
          }}
          onCompositionEnd={(event) => {
            typed(event.currentTarget);
          }}
        />
      </div>
    </div>
  );
}

function hasSelection(): boolean {
  return !(document.getSelection()?.isCollapsed ?? true);
}

const ScreenRow = memo(function ScreenRow(props: { row: Row }) {
  return (
    <div className={styles.row}>
      <LineText row={props.row} />
    </div>
  );
});
