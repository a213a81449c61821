import { useEffect, useState } from "react";
import type { Media } from "@/api/runs";
import { Code } from "@/parts/Code";
import { showNumber, showValue } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import styles from "./run.module.css";

/** What a browser shows or plays by itself. Nothing else is handed to it: what people log is theirs, not ours to run. */
const FORMATS = {
  image: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  audio: ["audio/wav", "audio/mpeg", "audio/flac", "audio/ogg"],
  video: ["video/mp4", "video/webm"],
} as const;
const MOST_ROWS = 200;

export function MediumContent(props: { blob: Blob; media: Media; name: string }) {
  const { blob, media, name } = props;
  const address = useAddress(blob, media.format);
  const isOf = (kind: keyof typeof FORMATS) =>
    (FORMATS[kind] as readonly string[]).includes(media.format);
  if (isOf("image"))
    return <img src={address} alt={name} data-sharp={media.kind === "image" || undefined} />;
  if (isOf("audio")) return <audio src={address} controls aria-label={name} />;
  if (isOf("video")) return <video src={address} controls aria-label={name} />;
  return <Words blob={blob} kind={media.kind} name={name} />;
}

function useAddress(blob: Blob, format: string): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([blob], { type: format }));
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
    };
  }, [blob, format]);
  return address;
}

function Words(props: { blob: Blob; kind: string; name: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    void props.blob.text().then(setText);
  }, [props.blob]);
  const counted = props.kind === "histogram" ? countedIn(text) : undefined;
  if (counted) return <Bars {...counted} />;
  const table = props.kind === "table" ? tableIn(text) : undefined;
  if (table) return <LoggedTable {...table} name={props.name} />;
  return <Code text={text} isWrapped />;
}

type Table = { columns: unknown[]; rows: unknown[][] };

export function tableIn(text: string): Table | undefined {
  const { columns, rows } = parsed(text) as Partial<Table>;
  return Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray)
    ? { columns, rows }
    : undefined;
}

function LoggedTable(props: Table & { name: string }) {
  const { runs: texts } = useTexts();
  const { columns, rows, name } = props;
  return (
    <>
      <div
        className={`table-scroll ${styles.table ?? ""}`}
        tabIndex={0}
        role="region"
        aria-label={name}
      >
        <table className="table">
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={at} scope="col">
                  {showValue(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((row, line) => (
              <tr key={line}>
                {row.map((cell, at) => (
                  <td key={at} className={typeof cell === "number" ? "number end" : undefined}>
                    {cell === null ? "–" : showValue(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MOST_ROWS && (
        <p className="faint small">{texts.firstRows(MOST_ROWS, rows.length)}</p>
      )}
    </>
  );
}

type Counted = { edges: number[]; counts: number[] };

function countedIn(text: string): Counted | undefined {
  const { edges, counts } = parsed(text) as Partial<Counted>;
  return Array.isArray(edges) && Array.isArray(counts) ? { edges, counts } : undefined;
}

function parsed(text: string): object {
  try {
    const found = JSON.parse(text) as unknown;
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

function Bars({ edges, counts }: Counted) {
  const { runs: texts } = useTexts();
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const told = texts.histogram(total, showNumber(edges[0]), showNumber(edges.at(-1)));
  return (
    <>
      <svg
        className={styles.bars}
        viewBox={`0 0 ${String(counts.length)} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={told}
      >
        {counts.map((count, index) => (
          <rect
            key={index}
            x={index + 0.05}
            width={0.9}
            y={100 - (100 * count) / most}
            height={(100 * count) / most}
          />
        ))}
      </svg>
      <p className="faint small">{told}</p>
    </>
  );
}
