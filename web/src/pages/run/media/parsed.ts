// What people logged as JSON, checked before it is drawn: anybody may have written the journal.

export type Table = { columns: unknown[]; types: unknown[]; rows: unknown[][] };
export type Picture = { caption: string; address: string };
export type Confusion = { labels: string[]; counts: number[][] };
export type Curve = { name: string; x: number[]; y: number[]; area: number | null };
export type Counted = { edges: number[]; counts: number[] };
export type CurvesOf = { x: string; y: string; lines: Curve[] };

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function parsed(text: string): object {
  try {
    const found = JSON.parse(text) as unknown;
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

export function tableIn(text: string): Table | undefined {
  const { columns, types, rows } = parsed(text) as Partial<Table>;
  return Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray)
    ? { columns, types: Array.isArray(types) ? types : [], rows }
    : undefined;
}

export function picturesIn(text: string): Picture[] | undefined {
  const { images } = parsed(text) as { images?: unknown };
  if (!Array.isArray(images)) return undefined;
  return images.flatMap((one: unknown) => {
    const { caption, format, data } = (one ?? {}) as Record<string, unknown>;
    if (typeof format !== "string" || !IMAGES.includes(format) || typeof data !== "string")
      return [];
    return [
      {
        caption: typeof caption === "string" ? caption : "",
        address: `data:${format};base64,${data}`,
      },
    ];
  });
}

export function matrixIn(text: string): Confusion | undefined {
  const { labels, counts } = parsed(text) as Partial<Confusion>;
  const isWhole =
    Array.isArray(labels) &&
    Array.isArray(counts) &&
    counts.length === labels.length &&
    counts.every((row) => areNumbers(row) && row.length === labels.length);
  return isWhole ? { labels: labels.map(nameOf), counts } : undefined;
}

export function curvesIn(text: string): CurvesOf | undefined {
  const { x, y, lines } = parsed(text) as { x?: unknown; y?: unknown; lines?: unknown };
  if (!Array.isArray(lines)) return undefined;
  return { x: nameOf(x), y: nameOf(y), lines: lines.flatMap(curveIn) };
}

function curveIn(line: unknown): Curve[] {
  const { name, x, y, area } = (line ?? {}) as Partial<Record<keyof Curve, unknown>>;
  if (!areNumbers(x) || !areNumbers(y) || x.length !== y.length) return [];
  return [{ name: nameOf(name), x, y, area: typeof area === "number" ? area : null }];
}

export function countedIn(text: string): Counted | undefined {
  const { edges, counts } = parsed(text) as Partial<Counted>;
  return areNumbers(edges) && areNumbers(counts) ? { edges, counts } : undefined;
}

const MOST_BARS = 400;

/** The counts of a histogram, those of neighbours together where there are more than can be told apart. */
export function barsOf(counts: readonly number[]): number[] {
  const together = Math.ceil(counts.length / MOST_BARS) || 1;
  const bars = new Array<number>(Math.ceil(counts.length / together)).fill(0);
  for (const [at, count] of counts.entries()) {
    const bar = Math.floor(at / together);
    bars[bar] = (bars[bar] ?? 0) + count;
  }
  return bars;
}

/** What is no name is shown as it was written. */
function nameOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function areNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}
