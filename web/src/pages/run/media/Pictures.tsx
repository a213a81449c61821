import styles from "../run.module.css";
import type { Picture } from "./parsed";

/** Images that belong together, each with its caption. */
export function Pictures(props: { pictures: readonly Picture[]; name: string }) {
  return (
    <ul className={styles.pictures}>
      {props.pictures.map((one, at) => (
        <li key={at}>
          <img
            src={one.address}
            alt={one.caption || `${props.name} ${String(at + 1)}`}
            data-sharp
          />
          {one.caption && <span className="faint small wrap">{one.caption}</span>}
        </li>
      ))}
    </ul>
  );
}
