import { CopyButton } from "./Code";
import { coloured } from "./colouring";
import "./listing.css";

/** A file to read: numbered lines, with comments, texts and words of the language in colours. */
export function Listing(props: { text: string; name: string }) {
  const lines = coloured(props.text.replace(/\n$/, ""), props.name);
  return (
    <div className="copyable">
      <pre className="listing" tabIndex={0} role="region" aria-label={props.name}>
        {lines.map((line, index) => (
          <span key={index} className="listing-line" data-lines>
            {line.map(([kind, text], place) =>
              kind ? (
                <span key={place} className={kind} data-lines>
                  {text}
                </span>
              ) : (
                text
              ),
            )}
            {"\n"}
          </span>
        ))}
      </pre>
      <CopyButton text={props.text} />
    </div>
  );
}
