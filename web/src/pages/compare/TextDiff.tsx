import { useQuery } from "@tanstack/react-query";
import { Loading } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { changedLines } from "./lines";
import styles from "./compare.module.css";

/** What two long texts differ by, line by line, with a few equal lines around. */
export function TextDiff(props: { before: string; after: string }) {
  const { values: texts } = useTexts();
  const { before, after } = props;
  const { data, error } = useQuery({
    queryKey: ["text-diff", before, after],
    queryFn: () => changedLines(before, after),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  if (error) return <pre className="code">{after}</pre>;
  if (!data) return <Loading lines={3} />;
  return (
    <pre className={`code ${styles.diff ?? ""}`} aria-label={texts.textDiff}>
      {data.map((line, at) => (
        <span key={at} data-kind={line.kind} data-lines>
          {{ added: "+ ", removed: "- ", same: "  ", skipped: "" }[line.kind]}
          {line.kind === "skipped" ? texts.equalLines(line.count) : line.text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
