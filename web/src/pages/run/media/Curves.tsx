import { colorOf } from "@/parts/chart/colors";
import { showNumber } from "@/parts/numbers";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import styles from "../run.module.css";
import type { CurvesOf } from "./parsed";

const SIZE = 100;

/** Precision over recall, or true over false positives: both axes go from 0 to 1. */
export function Curves(props: CurvesOf & { name: string }) {
  const { x, y, lines, name } = props;
  const { runs: texts } = useTexts();
  const isDark = useIsDark();
  return (
    <>
      <svg
        className={styles.curves}
        viewBox={`-2 -2 ${String(SIZE + 4)} ${String(SIZE + 4)}`}
        role="img"
        aria-label={name}
      >
        <rect width={SIZE} height={SIZE} />
        {lines.map((line, at) => (
          <polyline
            key={at}
            stroke={colorOf(at, isDark)}
            points={line.x
              .map(
                (place, to) => `${String(place * SIZE)},${String(SIZE - (line.y[to] ?? 0) * SIZE)}`,
              )
              .join(" ")}
          />
        ))}
      </svg>
      <p className="faint small">
        {x} → {y}
      </p>
      <ul className="small">
        {lines.map((line, at) => (
          <li key={at}>
            <span style={{ color: colorOf(at, isDark) }}>■</span> {line.name}{" "}
            {line.area != null && texts.area(showNumber(line.area))}
          </li>
        ))}
      </ul>
    </>
  );
}
