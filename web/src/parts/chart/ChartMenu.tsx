import { buttonClass } from "@/parts/Button";
import { csvOf } from "@/parts/csv";
import { Menu, MenuItem } from "@/parts/Menu";
import { saveAs } from "@/parts/saving";
import { useTexts } from "@/texts/language";
import type { ChartLine } from "./lines";
import { withPin, withPinMoved, type ChartView } from "./view";

/** What can be done with one chart: its place among the others, and taking it along. */
export function ChartMenu(props: {
  title: string;
  pins: readonly string[];
  lines: readonly ChartLine[];
  xLabel: string;
  canvas: () => HTMLCanvasElement | undefined;
  onChange: (change: (view: ChartView) => ChartView) => void;
}) {
  const { chart: texts } = useTexts();
  const { title, pins, onChange } = props;
  const at = pins.indexOf(title);
  const isPinned = at >= 0;
  const move = (by: -1 | 1) => () => {
    onChange((view) => withPinMoved(view, title, by));
  };
  return (
    <Menu
      label={texts.menuOf(title)}
      icon="more"
      className={buttonClass("plain", { isSmall: true, isIconOnly: true })}
    >
      <MenuItem
        icon="star"
        onChoose={() => {
          onChange((view) => withPin(view, title, !isPinned));
        }}
      >
        {isPinned ? texts.unpin : texts.pin}
      </MenuItem>
      {isPinned && (
        <>
          <MenuItem icon="left" isDisabled={at === 0} onChoose={move(-1)}>
            {texts.earlier}
          </MenuItem>
          <MenuItem icon="right" isDisabled={at === pins.length - 1} onChoose={move(1)}>
            {texts.later}
          </MenuItem>
        </>
      )}
      <MenuItem
        icon="download"
        isDisabled={!props.lines.length}
        onChoose={() => {
          saveAs(new Blob([linesAsCsv(props.lines, props.xLabel)]), fileOf(title, "csv"));
        }}
      >
        {texts.asCsv}
      </MenuItem>
      <MenuItem
        icon="download"
        isDisabled={!props.lines.length}
        onChoose={() => {
          savePicture(props.canvas(), fileOf(title, "png"));
        }}
      >
        {texts.asPng}
      </MenuItem>
    </Menu>
  );
}

function fileOf(title: string, ending: string): string {
  return `${title.replaceAll("/", "_")}.${ending}`;
}

/** One row per point; of a group also the lowest and the highest of its runs. */
export function linesAsCsv(lines: readonly ChartLine[], xLabel: string): string {
  const hasBand = lines.some((line) => line.band);
  const head = ["line", xLabel.toLowerCase(), "value", ...(hasBand ? ["min", "max"] : [])];
  const rows = lines.flatMap((line) =>
    line.x.map((x, at) => [
      line.label,
      x,
      line.y[at],
      ...(hasBand ? [line.band?.low[at], line.band?.high[at]] : []),
    ]),
  );
  return csvOf([head, ...rows]);
}

/** With the background of the page: a picture without one cannot be read everywhere. */
function savePicture(from: HTMLCanvasElement | undefined, name: string): void {
  if (!from) return;
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [from.width, from.height];
  const ctx = picture.getContext("2d");
  if (!ctx) return;
  ctx.fillStyle = getComputedStyle(from.closest(".panel") ?? document.body).backgroundColor;
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.drawImage(from, 0, 0);
  picture.toBlob((bytes) => {
    if (bytes) saveAs(bytes, name);
  });
}
