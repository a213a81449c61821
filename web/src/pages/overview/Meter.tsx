import styles from "./overview.module.css";

/** How much of something is in use. The words say it; the bar only shows it. */
export function Meter(props: { name: string; told: string; part: number }) {
  const part = Math.min(1, Math.max(0, props.part));
  return (
    <div className={styles.meter}>
      <div>
        <span className="wrap">{props.name}</span>
        <span className="muted number">{props.told}</span>
      </div>
      <span className="bar" aria-hidden="true">
        <span style={{ width: `${String(part * 100)}%` }} data-full={part >= 1} />
      </span>
    </div>
  );
}
