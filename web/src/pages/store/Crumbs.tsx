import { Link } from "@tanstack/react-router";
import { useTexts } from "@/texts/language";
import styles from "./store.module.css";

/** Where one is, each part a link. */
export function Crumbs(props: { bucket: string; prefix: string }) {
  const { store: texts } = useTexts();
  const parts = props.prefix.split("/").filter(Boolean);
  const last = parts.at(-1) ?? props.bucket;
  return (
    <nav className={styles.crumbs} aria-label={texts.path}>
      <Link to="/store" search={{}}>
        {texts.title}
      </Link>
      <span className="faint">/</span>
      {parts.length > 0 && (
        <>
          <Link to="/store" search={{ bucket: props.bucket }}>
            {props.bucket}
          </Link>
          <span className="faint">/</span>
        </>
      )}
      {parts.slice(0, -1).map((part, index) => (
        <span key={index}>
          <Link
            to="/store"
            search={{ bucket: props.bucket, path: `${parts.slice(0, index + 1).join("/")}/` }}
          >
            {part}
          </Link>{" "}
          <span className="faint">/</span>
        </span>
      ))}
      <h1 className="wrap">{last}</h1>
    </nav>
  );
}
