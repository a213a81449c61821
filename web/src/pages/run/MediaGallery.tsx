import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { mediaQuery, readMedia, type Media } from "@/api/runs";
import { Code } from "@/parts/Code";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { showNumber } from "@/parts/numbers";
import { LOG_TEXT } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import styles from "./run.module.css";

const SHOWN = 60;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Images, texts and histograms, the newest first. */
export function MediaGallery(props: { run: string }) {
  const { runs: texts } = useTexts();
  const { data, error, refetch } = useQuery(mediaQuery(props.run));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (!data.length)
    return (
      <div className="panel">
        <Empty icon="file" title={texts.noMedia}>
          <p>{texts.noMediaText}</p>
          <Code text={LOG_TEXT} />
        </Empty>
      </div>
    );
  const newest = [...data].sort((a, b) => b.time - a.time).slice(0, SHOWN);
  return (
    <div className={styles.media}>
      {newest.map((media) => (
        <Medium key={media.id} run={props.run} media={media} />
      ))}
    </div>
  );
}

function Medium(props: { run: string; media: Media }) {
  const { media, run } = props;
  const { runs: texts } = useTexts();
  const name = [media.type, media.name].filter(Boolean).join("/");
  const { data, error, refetch } = useQuery({
    queryKey: ["medium", run, media.id],
    queryFn: () => readMedia(run, media.id),
    staleTime: Infinity,
  });
  return (
    <figure className={`panel ${styles.medium ?? ""}`}>
      <figcaption className="wrap">
        <strong>{name}</strong>
        {media.step != null && (
          <span className="faint small">
            {" "}
            {texts.step} {media.step}
          </span>
        )}
      </figcaption>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={2} />
      ) : IMAGES.includes(media.format) ? (
        <Picture blob={data} format={media.format} name={name} />
      ) : (
        <Words blob={data} isHistogram={media.kind === "histogram"} />
      )}
    </figure>
  );
}

function Picture(props: { blob: Blob; format: string; name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([props.blob], { type: props.format }));
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
    };
  }, [props.blob, props.format]);
  return <img src={address} alt={props.name} />;
}

function Words(props: { blob: Blob; isHistogram: boolean }) {
  const [text, setText] = useState("");
  useEffect(() => {
    void props.blob.text().then(setText);
  }, [props.blob]);
  const counted = props.isHistogram && text ? parsed(text) : undefined;
  if (counted) return <Bars {...counted} />;
  return <Code text={text} isWrapped />;
}

type Counted = { edges: number[]; counts: number[] };

function parsed(text: string): Counted | undefined {
  try {
    const found = JSON.parse(text) as Partial<Counted>;
    return Array.isArray(found.edges) && Array.isArray(found.counts)
      ? { edges: found.edges, counts: found.counts }
      : undefined;
  } catch {
    return undefined;
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
