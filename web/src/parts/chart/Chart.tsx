import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useIsDark } from "@/parts/theme";
import { useLocale, useTexts } from "@/texts/language";
import { showNumber } from "../numbers";
import "./chart.css";
import { drawLines, type Drawn } from "./draw";
import { rangeOfX, rangeOfY, smooth, type ChartLine, type Range } from "./lines";
import { makeOptions } from "./options";
import { Tooltip, type Hover } from "./Tooltip";
import { pointsAt } from "./hover";

export type XKind = "number" | "seconds" | "clock";

export type ChartProps = {
  /** What it shows, for screen readers. */
  label: string;
  lines: readonly ChartLine[];
  xKind?: XKind;
  xLabel?: string;
  isLog?: boolean;
  /** For amounts, whose distance from nothing is to be seen: the axis goes from 0 to this, or further. */
  fromZeroTo?: number;
  /** 0 to 0.99; what was measured stays behind the smoothed line. */
  smoothing?: number;
  height?: number;
  /** Values far from the others do not decide what is in sight. */
  withoutOutliers?: boolean;
  /** The lowest and the highest in sight; undefined where the values decide. */
  yRange?: readonly [low: number | undefined, high: number | undefined];
  /** Charts of one group show the same place on the axis. */
  group?: string;
  /** The part of the X axis in sight; all of it when left out. */
  zoom?: Range;
  /** Told what part somebody chose here; undefined for all. */
  onZoom?: (range: Range | undefined) => void;
  /** The line that the others are compared with when one points at them. */
  baseline?: string;
};

/** Lines over steps, epochs or time: drag to zoom, double-click for all, arrow keys to read values. */
export function Chart(props: ChartProps) {
  const { lines, isLog = false, smoothing = 0, height = 220, xKind = "number", group } = props;
  const { fromZeroTo, withoutOutliers, yRange, baseline } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const drawn = useRef<readonly Drawn[]>([]);
  const focused = useRef<string>(undefined);
  const zoom = useRef<Range>(props.zoom);
  const [hover, setHover] = useState<Hover>();
  const isDark = useIsDark();
  const { chart: texts } = useTexts();
  const locale = useLocale();

  const shown = useMemo(
    () =>
      lines.map((line) => ({
        line,
        smoothed: smoothing > 0 ? smooth(line.y, smoothing) : undefined,
      })),
    [lines, smoothing],
  );

  const onCursor = useEffectEvent((u: uPlot) => {
    const { left, top } = u.cursor;
    const isHere = place.current?.matches(":hover, :focus-within, :focus") ?? false;
    const found =
      isHere && left !== undefined && left >= 0 && top !== undefined
        ? pointsAt(u, drawn.current, { left, top, baseline })
        : undefined;
    const name = found?.points[0]?.id;
    if (name !== focused.current) {
      focused.current = name;
      u.redraw(false);
    }
    setHover(found);
  });
  const onScale = useEffectEvent((u: uPlot) => {
    const { min, max } = u.scales.x ?? {};
    if (min == null || max == null) return;
    const all = rangeOfX(lines);
    const before = zoom.current;
    zoom.current = all && (min > all[0] || max < all[1]) ? [min, max] : undefined;
    // the others of the group follow by themselves: only where somebody zooms it is told
    if (place.current?.matches(":hover") && String(before) !== String(zoom.current))
      props.onZoom?.(zoom.current);
    fitY(u, drawn.current, [min, max], { isLog, fromZeroTo, withoutOutliers, yRange });
  });
  const show = useEffectEvent((u: uPlot) => {
    drawn.current = shown;
    const all = rangeOfX(lines) ?? [0, 1];
    const [min, max] = zoom.current ?? all;
    u.batch(() => {
      u.setData([[...all], [null, null]], false);
      u.setScale("x", { min, max });
      fitY(u, shown, [min, max], { isLog, fromZeroTo, withoutOutliers, yRange });
    });
  });

  useEffect(() => {
    const box = place.current;
    if (!box) return undefined;
    const options = makeOptions(box, { height, isLog, xKind, group, locale });
    const u = new uPlot(
      {
        ...options,
        hooks: {
          draw: [
            (own) => {
              drawLines(own, drawn.current, focused.current);
            },
          ],
          setCursor: [onCursor],
          setScale: [
            (own, key) => {
              if (key === "x") onScale(own);
            },
          ],
        },
      },
      [
        [0, 1],
        [null, null],
      ],
      box,
    );
    plot.current = u;
    show(u);
    const watcher = new ResizeObserver(() => {
      if (box.clientWidth > 0) u.setSize({ width: box.clientWidth, height });
    });
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      u.destroy();
      plot.current = undefined;
    };
  }, [height, isLog, xKind, group, isDark, locale]);

  useEffect(() => {
    if (plot.current) show(plot.current);
  }, [shown, withoutOutliers, yRange]);

  const [from, to] = props.zoom ?? [];
  const zoomTo = useEffectEvent((range: Range | undefined) => {
    if (String(range) === String(zoom.current)) return;
    zoom.current = range;
    if (plot.current) show(plot.current);
  });
  useEffect(() => {
    zoomTo(from === undefined || to === undefined ? undefined : [from, to]);
  }, [from, to]);

  const step = (by: number) => {
    const u = plot.current;
    if (!u) return;
    const width = u.over.clientWidth;
    const from = (u.cursor.left ?? -1) < 0 ? width : (u.cursor.left ?? 0);
    const left = Math.min(width, Math.max(0, from + (by * width) / 100));
    u.setCursor({ left, top: (u.cursor.top ?? -1) < 0 ? 0 : (u.cursor.top ?? 0) });
  };
  return (
    <div className="chart-box">
      <div
        ref={place}
        className="chart"
        role="img"
        tabIndex={0}
        aria-label={`${props.label}. ${texts.lines(lines.length)} ${described(lines)}`}
        onBlur={() => {
          plot.current?.setCursor({ left: -10, top: -10 });
        }}
        onKeyDown={(event) => {
          const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          step(by);
        }}
      />
      {hover && <Tooltip hover={hover} xKind={xKind} xLabel={props.xLabel} />}
    </div>
  );
}

function fitY(
  u: uPlot,
  drawn: readonly Drawn[],
  within: Range,
  wanted: { isLog: boolean } & Pick<ChartProps, "fromZeroTo" | "withoutOutliers" | "yRange">,
): void {
  const { isLog, fromZeroTo } = wanted;
  // spikes of what was measured may leave the picture when it is smoothed strongly: the smoothed line counts
  const lines = drawn.map(({ line, smoothed }) => (smoothed ? { ...line, y: smoothed } : line));
  const [low, high] = rangeOfY(lines, within, isLog, wanted.withoutOutliers);
  const isSmoothed = drawn.some(({ smoothed }) => smoothed);
  const room = isSmoothed && !isLog ? (high - low) * 0.08 : 0;
  const [least, most] = wanted.yRange ?? [undefined, undefined];
  u.setScale(
    "y",
    fromZeroTo === undefined
      ? { min: least ?? low - room, max: most ?? high + room }
      : { min: 0, max: Math.max(high, fromZeroTo) },
  );
}

function described(lines: readonly ChartLine[]): string {
  return lines
    .slice(0, 5)
    .map((line) => `${line.label}: ${showNumber(line.y.findLast((value) => value !== null))}`)
    .join("; ");
}
