import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type PointerEvent } from "react";
import { showNumber } from "@/parts/numbers";
import { useIsDark } from "@/parts/theme";
import { showSeconds } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import { heatOf, type Heat } from "./heat";
import styles from "./heat.module.css";
import { QUANTITIES, SCALES, type Quantity, type Resources } from "./quantities";

const LEAST_ROW_PX = 4;
const MOST_ROW_PX = 22;
const TALL_PX = 320;
const FIRST = ["device", "cpu", "memory"] as const;
const LIGHT = { low: [243, 241, 238], high: [194, 65, 12] };
const DARK = { low: [38, 36, 34], high: [240, 138, 75] };

/** Ranks over time: who worked and who waited. Left out for jobs of one task. */
export function HeatMap(props: { found: Resources; job: string }) {
  const { found } = props;
  const { resources: texts } = useTexts();
  const maps = useMemo(
    () => new Map(QUANTITIES.map((one) => [one, heatOf(found, one)] as const)),
    [found],
  );
  const measured = QUANTITIES.filter((one) => maps.get(one));
  const [chosen, setChosen] = useState<Quantity>();
  const quantity = chosen ?? FIRST.find((one) => maps.get(one));
  const heat = quantity && maps.get(quantity);
  if (!heat || !quantity) return null;
  return (
    <section className="panel" aria-label={texts.heat}>
      <div className="panel-head">
        <h2>{texts.heat}</h2>
        <select
          className="input fit"
          aria-label={texts.quantity}
          value={quantity}
          onChange={(event) => {
            setChosen(QUANTITIES.find((one) => one === event.target.value));
          }}
        >
          {measured.map((one) => (
            <option key={one} value={one}>
              {texts.quantities[one]}
            </option>
          ))}
        </select>
      </div>
      <Cells heat={heat} quantity={quantity} job={props.job} attempt={found.attempt} />
    </section>
  );
}

function Cells(props: { heat: Heat; quantity: Quantity; job: string; attempt: number }) {
  const { heat, quantity } = props;
  const { job: own, resources: texts } = useTexts();
  const locale = useLocale();
  const isDark = useIsDark();
  const navigate = useNavigate();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<{ row: number; column: number }>();
  const [unit, size] = SCALES[quantity];
  const most = unit === "%" ? size * 100 : heat.highest;
  const show = (value: number) =>
    `${showNumber(Number((value / size).toPrecision(3)))} ${texts.units[unit]}`;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, heat, most, isDark);
  }, [heat, most, isDark]);
  const placeOf = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (place: number, length: number, count: number) =>
      Math.max(0, Math.min(count - 1, Math.floor((place / length) * count)));
    return {
      row: part(event.clientY - box.top, box.height, heat.ranks.length),
      column: part(event.clientX - box.left, box.width, heat.times.length),
    };
  };
  const rowPx = Math.max(LEAST_ROW_PX, Math.min(MOST_ROW_PX, TALL_PX / heat.ranks.length));
  const value = at && heat.cells[at.row]?.[at.column];
  const told = at
    ? [
        `${own.rank} ${String(heat.ranks[at.row])}`,
        showSeconds(heat.times[at.column] ?? 0, locale),
        value == null ? "–" : show(value),
      ].join(" · ")
    : heat.laziest && texts.laziest(heat.laziest.rank, show(heat.laziest.mean));
  return (
    <div className={`panel-body ${styles.heat ?? ""}`}>
      <div className={styles.ranks} aria-hidden="true">
        <span>{heat.ranks[0]}</span>
        <span>{heat.ranks.at(-1)}</span>
      </div>
      <canvas
        ref={canvas}
        className={styles.cells}
        style={{ height: rowPx * heat.ranks.length }}
        role="img"
        aria-label={`${texts.quantities[quantity]}, ${texts.heat}. ${told ?? ""}`}
        onPointerMove={(event) => {
          setAt(placeOf(event));
        }}
        onPointerLeave={() => {
          setAt(undefined);
        }}
        onClick={() => {
          const rank = at && heat.ranks[at.row];
          if (rank === undefined) return;
          const search = { attempt: props.attempt, rank };
          void navigate({ to: "/jobs/$id/logs", params: { id: props.job }, search });
        }}
      />
      <div className={styles.axis} aria-hidden="true">
        <span>0</span>
        <span>{showSeconds(heat.times.at(-1) ?? 0, locale)}</span>
      </div>
      <p className={styles.told}>
        <span className="muted small">{told}</span>
        <span className={styles.scale} aria-hidden="true">
          <span>0</span>
          <span className={styles.ramp} />
          <span>{show(most)}</span>
        </span>
      </p>
    </div>
  );
}

/** A pixel per cell; the page makes it as large as there is room. */
function draw(canvas: HTMLCanvasElement, heat: Heat, most: number, isDark: boolean): void {
  canvas.width = Math.max(1, heat.times.length);
  canvas.height = heat.ranks.length;
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(canvas.width, canvas.height);
  const [low, high] = isDark ? [DARK.low, DARK.high] : [LIGHT.low, LIGHT.high];
  for (const [row, values] of heat.cells.entries())
    for (const [column, value] of values.entries()) {
      if (value === null) continue;
      const part = most > 0 ? Math.min(1, value / most) : 0;
      const place = (row * canvas.width + column) * 4;
      for (let colour = 0; colour < 3; colour++) {
        const [from, to] = [low[colour] ?? 0, high[colour] ?? 0];
        image.data[place + colour] = from + (to - from) * part;
      }
      image.data[place + 3] = 255;
    }
  context.putImageData(image, 0, 0);
}
