import { useEffect, useState } from "react";
import type { Media } from "@/api/runs";
import { Code } from "@/parts/Code";
import { highestOf, showNumber } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { Curves } from "./media/Curves";
import { LoggedTable } from "./media/LoggedTable";
import { Matrix } from "./media/Matrix";
import { Pictures } from "./media/Pictures";
import {
  barsOf,
  countedIn,
  curvesIn,
  matrixIn,
  picturesIn,
  tableIn,
  type Counted,
} from "./media/parsed";
import styles from "./run.module.css";

/** What a browser shows or plays by itself. Nothing else is handed to it: what people log is theirs, not ours to run. */
const FORMATS = {
  image: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  audio: ["audio/wav", "audio/mpeg", "audio/flac", "audio/ogg"],
  video: ["video/mp4", "video/webm"],
} as const;

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
  const pictures = props.kind === "images" ? picturesIn(text) : undefined;
  if (pictures) return <Pictures pictures={pictures} name={props.name} />;
  const matrix = props.kind === "confusion_matrix" ? matrixIn(text) : undefined;
  if (matrix) return <Matrix {...matrix} name={props.name} />;
  const curves = props.kind.endsWith("_curve") ? curvesIn(text) : undefined;
  if (curves) return <Curves {...curves} name={props.name} />;
  return <Code text={text} isWrapped />;
}

function Bars({ edges, counts }: Counted) {
  const { runs: texts } = useTexts();
  const bars = barsOf(counts);
  const most = Math.max(1, highestOf(bars));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const told = texts.histogram(total, showNumber(edges[0]), showNumber(edges.at(-1)));
  return (
    <>
      <svg
        className={styles.bars}
        viewBox={`0 0 ${String(bars.length)} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={told}
      >
        {bars.map((count, index) => (
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
