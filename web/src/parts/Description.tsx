import { lazy, Suspense } from "react";

const Markdown = lazy(async () => ({ default: (await import("./Markdown")).Markdown }));

/** What people wrote about something, in Markdown, as long as they like: it scrolls, and pushes nothing away. */
export function Description(props: { text: string | null | undefined; isPlain?: boolean }) {
  if (!props.text) return null;
  const plain = <p>{props.text}</p>;
  return (
    <div className="description" tabIndex={0}>
      {props.isPlain ? (
        plain
      ) : (
        <Suspense fallback={plain}>
          <Markdown text={props.text} />
        </Suspense>
      )}
    </div>
  );
}
