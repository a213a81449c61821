import { memo, type CSSProperties, type ReactNode } from "react";
import type { Shown } from "./layout";
import styles from "./logs.module.css";
import type { Row, Span } from "./terminal";

const NAMED = 16; // colours that the theme gives; the others are as they are

/** One row: the number of its line, when it was written, and its text with colours, links and what was searched for. */
export const LogLine = memo(function LogLine(props: {
  top: number;
  found: Shown | undefined;
  isTarget: boolean;
  /** Undefined: no times are shown. */
  time: string | undefined;
  words: RegExp | undefined;
  onNumber: ((line: number) => void) | undefined;
}) {
  const { found, onNumber } = props;
  const number = found?.number;
  return (
    <div
      className={props.isTarget ? `${styles.line ?? ""} ${styles.target ?? ""}` : styles.line}
      style={{ top: props.top }}
    >
      <span
        className={styles.number}
        aria-hidden="true"
        onClick={() => {
          if (number !== undefined) onNumber?.(number);
        }}
      >
        {number === undefined ? "" : number + 1}
      </span>
      {props.time !== undefined && (
        <span className={styles.time} aria-hidden="true">
          {props.time}
        </span>
      )}
      {found ? (
        <span className={styles.text} data-lines>
          {props.words && found.text.search(props.words) >= 0 ? (
            marked(found.text, props.words)
          ) : (
            <LineText row={found} />
          )}
        </span>
      ) : (
        <span className={styles.wait} />
      )}
    </div>
  );
});

/** A row's text in its colours. A text that is returned bare would be shown without `visible`. */
export function LineText(props: { row: Row }) {
  return props.row.spans ? (
    props.row.spans.map((span, index) => <Styled key={index} span={span} />)
  ) : (
    <>{props.row.text}</>
  );
}

function Styled(props: { span: Span }) {
  const { span } = props;
  const names = [
    span.isBold && styles.bold,
    span.isItalic && styles.italic,
    span.isDim && styles.dim,
    (span.isUnderlined ?? span.link !== undefined) && styles.underlined,
    typeof span.color === "number" && span.color < NAMED && styles[`fore${String(span.color)}`],
    typeof span.background === "number" &&
      span.background < NAMED &&
      styles[`back${String(span.background)}`],
  ];
  const className = names.filter(Boolean).join(" ") || undefined;
  const style: CSSProperties = {
    ...(freeColor(span.color) && {
      color: `color-mix(in oklab, ${freeColor(span.color)}, var(--text) 35%)`,
    }),
    ...(freeColor(span.background) && {
      background: `color-mix(in oklab, ${freeColor(span.background)}, var(--surface) 75%)`,
    }),
  };
  if (span.link === undefined)
    return (
      <span className={className} style={style} data-lines>
        {span.text}
      </span>
    );
  return (
    <a
      href={span.link}
      title={span.link}
      target="_blank"
      rel="noopener noreferrer"
      className={className}
      data-lines
    >
      {span.text}
    </a>
  );
}

/** A colour that is none of the theme's; empty for those. */
function freeColor(color: number | string | undefined): string {
  if (typeof color === "string") return color;
  if (color === undefined || color < NAMED) return "";
  if (color >= 232) {
    const level = 8 + (color - 232) * 10;
    return `rgb(${String(level)} ${String(level)} ${String(level)})`;
  }
  const cube = color - NAMED;
  const part = (value: number) => String(value === 0 ? 0 : 55 + value * 40);
  return `rgb(${part(Math.floor(cube / 36))} ${part(Math.floor(cube / 6) % 6)} ${part(cube % 6)})`;
}

/** Text with what was searched for marked. */
function marked(text: string, words: RegExp | undefined): ReactNode {
  if (!words) return text;
  const parts: ReactNode[] = [];
  let at = 0;
  for (const found of text.matchAll(words)) {
    if (!found[0]) break;
    parts.push(
      text.slice(at, found.index),
      <mark key={found.index} data-lines>
        {found[0]}
      </mark>,
    );
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
