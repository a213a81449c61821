import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTexts } from "@/texts/language";
import { Code } from "./Code";
import { parseCsv } from "./csv";
import { Loading, Problem } from "./Empty";
import { showBytes } from "./numbers";
import { own } from "./own";

const TEXT_BYTES = 256 * 1024;
const IMAGE_BYTES = 20 * 1024 * 1024;
const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  bmp: "image/bmp",
};

/** What is in a file: pictures, tables, JSON and text. Everything else is not shown; nothing of it is ever run. */
export function FilePreview(props: {
  /** The name decides what it is taken for. */
  name: string;
  size: number;
  /** Names what is read, for the cache. */
  id: readonly string[];
  read: (mostBytes: number) => Promise<ArrayBuffer>;
}) {
  const { store: texts } = useTexts();
  const kind = props.name.slice(props.name.lastIndexOf(".") + 1).toLowerCase();
  const image = own(IMAGES, kind);
  const most = image ? IMAGE_BYTES : TEXT_BYTES;
  const isTooLarge = image !== undefined && props.size > IMAGE_BYTES;
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", ...props.id, props.size],
    queryFn: () => props.read(most),
    staleTime: 60_000,
    enabled: !isTooLarge,
  });
  if (isTooLarge) return <p className="muted">{texts.noPreview}</p>;
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (image) return <Picture data={data} type={image} name={props.name} />;
  const text = textOf(data);
  if (text === undefined) return <p className="muted">{texts.noPreview}</p>;
  return (
    <>
      {props.size > most && <p className="muted small">{texts.cut(showBytes(most))}</p>}
      {(kind === "csv" || kind === "tsv") && text ? (
        <CsvTable text={text} name={props.name} />
      ) : (
        <Code text={kind === "json" ? pretty(text) : text} label={props.name} />
      )}
    </>
  );
}

function Picture(props: { data: ArrayBuffer; type: string; name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([props.data], { type: props.type }));
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
    };
  }, [props.data, props.type]);
  return <img className="preview-image" src={address} alt={props.name} />;
}

function CsvTable(props: { text: string; name: string }) {
  const [head = [], ...rows] = parseCsv(props.text);
  return (
    <div className="table-scroll preview-table" tabIndex={0} role="region" aria-label={props.name}>
      <table className="table">
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place} className="clip" title={cell}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The bytes as text; undefined when they are no text. */
export function textOf(data: ArrayBuffer): string | undefined {
  const bytes = new Uint8Array(data);
  if (bytes.subarray(0, 8000).includes(0)) return undefined;
  const text = new TextDecoder().decode(bytes);
  const odd = text.slice(0, 4000).match(/\uFFFD/g)?.length ?? 0;
  return odd > 20 ? undefined : text;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text; // cut off, or not quite JSON
  }
}
