import { useMemo, useRef, useState, type PointerEvent } from "react";
import { CheckField } from "@/parts/Field";
import { Menu } from "@/parts/Menu";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import { differing, keysOf, shortKey, valuesOf } from "../experiments/values";
import type { ComparedRun } from "./ComparePage";
import { scaleOf } from "./scale";
import styles from "./compare.module.css";

const WIDTH = 1000;
const HEIGHT = 380;
const TOP = 40;
const BOTTOM = 24;
const SIDE = 70;

type Brush = readonly [low: number, high: number];

/** One line per run, one axis per value. */
export function Parallel(props: {
  runs: readonly ComparedRun[];
  axes: string[] | undefined;
  onAxes: (axes: string[]) => void;
}) {
  const { values: texts } = useTexts();
  const { runs } = props;
  const keys = useMemo(() => {
    const { hparams, metrics, summary } = keysOf(runs);
    return [...hparams, ...summary, ...metrics];
  }, [runs]);
  const axes = useMemo(
    () => (props.axes ?? usualAxes(runs)).filter((key) => keys.includes(key)),
    [props.axes, runs, keys],
  );
  const [brushes, setBrushes] = useState<ReadonlyMap<string, Brush>>(new Map());
  const scales = useMemo(
    () => axes.map((key) => scaleOf(runs.map((run) => valuesOf(run)[key]))),
    [axes, runs],
  );
  const isOut = (run: ComparedRun) =>
    axes.some((key, index) => {
      const brush = brushes.get(key);
      if (!brush) return false;
      const place = scales[index]?.place(valuesOf(run)[key]);
      return place === undefined || place < brush[0] || place > brush[1];
    });
  const passing = runs.filter((run) => !isOut(run)).length;
  return (
    <>
      <div className="toolbar">
        <Menu label={texts.axes} icon="columns" shown={texts.axes} isSticky>
          <div className={styles.picker}>
            {keys.map((key) => (
              <div key={key}>
                <CheckField
                  label={key}
                  checked={axes.includes(key)}
                  onChange={(event) => {
                    props.onAxes(
                      event.target.checked
                        ? keys.filter((one) => one === key || axes.includes(one))
                        : axes.filter((one) => one !== key),
                    );
                  }}
                />
              </div>
            ))}
          </div>
        </Menu>
        <span className="muted small">
          {texts.colorBy} {brushes.size > 0 && texts.passing(passing, runs.length)}
        </span>
      </div>
      {axes.length < 2 ? (
        <p className="muted">{texts.chooseAxes}</p>
      ) : (
        <div className="panel">
          <div className={styles.plot}>
            <svg
              viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
              role="img"
              aria-label={`${texts.tabs.parallel}: ${axes.map(shortKey).join(", ")}`}
            >
              <Paths runs={runs} axes={axes} scales={scales} isOut={isOut} />
              {axes.map((key, index) => (
                <AxisLine
                  key={key}
                  name={shortKey(key)}
                  x={xOf(index, axes.length)}
                  scale={scales[index]}
                  brush={brushes.get(key)}
                  onBrush={(brush) => {
                    const next = new Map(brushes);
                    if (brush) next.set(key, brush);
                    else next.delete(key);
                    setBrushes(next);
                  }}
                />
              ))}
            </svg>
          </div>
        </div>
      )}
      {axes.length > 1 && <p className="faint small">{texts.brushHint}</p>}
    </>
  );
}

function Paths(props: {
  runs: readonly ComparedRun[];
  axes: readonly string[];
  scales: readonly ReturnType<typeof scaleOf>[];
  isOut: (run: ComparedRun) => boolean;
}) {
  const isDark = useIsDark();
  const { axes, scales } = props;
  const last = axes.length - 1;
  return props.runs.map((run) => {
    let path = "";
    for (const [index, key] of axes.entries()) {
      const place = scales[index]?.place(valuesOf(run)[key]);
      if (place === undefined) {
        path += " ";
        continue;
      }
      const isNew = !path || path.endsWith(" ");
      path += `${isNew ? "M" : "L"}${String(xOf(index, axes.length))},${yOf(place).toFixed(1)}`;
    }
    const end = scales[last]?.place(valuesOf(run)[axes[last] ?? ""]);
    return (
      <path
        key={run.id}
        className={styles.path}
        d={path.trim()}
        data-out={props.isOut(run)}
        style={{ stroke: end === undefined ? run.color : heat(end, isDark) }}
      >
        <title>{run.name}</title>
      </path>
    );
  });
}

function AxisLine(props: {
  name: string;
  x: number;
  scale: ReturnType<typeof scaleOf> | undefined;
  brush: Brush | undefined;
  onBrush: (brush: Brush | undefined) => void;
}) {
  const { x, brush } = props;
  const from = useRef<number>(undefined);
  const placeAt = (event: PointerEvent<SVGRectElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, 1 - (event.clientY - box.top) / box.height));
  };
  return (
    <g>
      <line className={styles.axis} x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />
      <text className={styles.title} x={x} y={TOP - 18} textAnchor="middle">
        {cut(props.name)}
        <title>{props.name}</title>
      </text>
      {props.scale?.ticks.slice(0, 12).map((tick) => (
        <text key={tick.text} x={x + 6} y={yOf(tick.at) + 4}>
          {cut(tick.text)}
        </text>
      ))}
      {brush && (
        <rect
          className={styles.brush}
          x={x - 7}
          width={14}
          y={yOf(brush[1])}
          height={Math.max(2, yOf(brush[0]) - yOf(brush[1]))}
        />
      )}
      <rect
        className={styles.catch}
        x={x - 12}
        width={24}
        y={TOP}
        height={HEIGHT - BOTTOM - TOP}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          from.current = placeAt(event);
          props.onBrush(undefined);
        }}
        onPointerMove={(event) => {
          if (from.current === undefined) return;
          const to = placeAt(event);
          if (Math.abs(to - from.current) > 0.02)
            props.onBrush([Math.min(from.current, to), Math.max(from.current, to)]);
        }}
        onPointerUp={() => {
          from.current = undefined;
        }}
      />
    </g>
  );
}

/** What the runs differ by, at most six, and a metric at the end: by it they are coloured. */
function usualAxes(runs: readonly ComparedRun[]): string[] {
  const keys = keysOf(runs);
  const hparams = differing(runs, keys.hparams).slice(0, 6);
  const metrics = differing(runs, keys.metrics);
  const best = metrics.find((key) => /^metrics\.(val|test)\./.test(key)) ?? metrics[0];
  return best === undefined ? hparams : [...hparams, best];
}

function xOf(index: number, count: number): number {
  return SIDE + (index * (WIDTH - 2 * SIDE)) / Math.max(1, count - 1);
}

function yOf(place: number): number {
  return HEIGHT - BOTTOM - place * (HEIGHT - BOTTOM - TOP);
}

function cut(text: string): string {
  return text.length > 18 ? `${text.slice(0, 17)}…` : text;
}

/** From cold to warm. */
function heat(place: number, isDark: boolean): string {
  const hue = 250 - 225 * place;
  return `hsl(${String(Math.round(hue))} 70% ${isDark ? "66%" : "42%"})`;
}
