import { useVirtualizer } from "@tanstack/react-virtual";
import { isValidElement, useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { useTexts } from "@/texts/language";
import { Icon } from "./Icon";
import { pinOf, usePinned } from "./pinned";

const ROW_PX = 37;
const DRAW_ALL_BELOW = 60;
const SHORT_CHARACTERS = 24;

export type Column<Row> = {
  id: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** What to sort by; a column without it cannot be sorted. */
  sort?: (row: Row) => string | number | null | undefined;
  isEnd?: boolean;
  /** Little room for what is often long. */
  isClipped?: boolean;
  /** Left out where there is little room. */
  isWideOnly?: boolean;
  /** What a file of the table has where it is not what it is sorted by. */
  text?: (row: Row) => string;
};

export type Sort = { by: string; isDown: boolean };

type Selection = {
  ids: ReadonlySet<string>;
  onChange: (ids: ReadonlySet<string>) => void;
  nameOf: (id: string) => string;
};

/** A table of any length: only the rows in sight are drawn. */
export function DataTable<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  selection?: Selection;
  /** How many of the first columns stay in sight when the others are scrolled. */
  numPinned?: number;
  /** The most height; taller tables scroll. */
  maxHeight?: string;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  const { rows, columns, selection, numPinned = 0 } = props;
  const ticks = selection ? 1 : 0;
  const pinned = numPinned > 0 ? numPinned + ticks : 0;
  usePinned(scroll, pinned, columns);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    enabled: rows.length > DRAW_ALL_BELOW,
  });
  const drawn = virtual.getVirtualItems();
  const isAll = rows.length <= DRAW_ALL_BELOW;
  const shown = isAll
    ? rows
    : drawn.map((item) => rows[item.index]).filter((row) => row !== undefined);
  const above = isAll ? 0 : (drawn[0]?.start ?? 0);
  const below = isAll ? 0 : virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0);
  return (
    <div
      className="table-scroll"
      ref={scroll}
      style={{ maxHeight: props.maxHeight ?? "calc(100vh - 12rem)" }}
      tabIndex={0}
      role="region"
      aria-label={props.label}
    >
      <table className="table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {selection && (
              <SelectAll
                rows={rows}
                rowId={props.rowId}
                selection={selection}
                pin={pinOf(0, pinned)}
              />
            )}
            {columns.map((column, at) => (
              <Head
                key={column.id}
                column={column}
                sort={props.sort}
                onSort={props.onSort}
                pin={pinOf(at + ticks, pinned)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} width={columns.length + ticks} />}
          {shown.map((row) => (
            <TableRow
              key={props.rowId(row)}
              row={row}
              id={props.rowId(row)}
              columns={columns}
              selection={selection}
              pinned={pinned}
            />
          ))}
          {below > 0 && <Spacer height={below} width={columns.length + ticks} />}
        </tbody>
      </table>
    </div>
  );
}

/** An order as addresses have it: the column's name, behind a minus when it goes down. */
export function sortText(sort: Sort): string {
  return `${sort.isDown ? "-" : ""}${sort.by}`;
}

export function sortOf(text: string | undefined): Sort | undefined {
  if (text === undefined) return undefined;
  return text.startsWith("-") ? { by: text.slice(1), isDown: true } : { by: text, isDown: false };
}

/** The rows in the order that is asked for; what has no value comes last. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const key = columns.find((column) => column.id === sort?.by)?.sort;
  if (!key || !sort) return rows;
  const sign = sort.isDown ? -1 : 1;
  const keyed = rows.map((row) => [key(row), row] as const);
  keyed.sort(([a], [b]) => {
    if (a === b) return 0;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    return sign * (a < b ? -1 : 1);
  });
  return keyed.map(([, row]) => row);
}

function Head<Row>(props: {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: ((sort: Sort) => void) | undefined;
  pin: CSSProperties | undefined;
}) {
  const { column, sort, onSort, pin } = props;
  const isBy = sort?.by === column.id;
  return (
    <th
      scope="col"
      className={cellClass(column, pin)}
      style={pin}
      title={column.title.length > SHORT_CHARACTERS ? column.title : undefined}
      aria-sort={isBy ? (sort.isDown ? "descending" : "ascending") : undefined}
    >
      {column.sort && onSort ? (
        <button
          type="button"
          onClick={() => {
            onSort({ by: column.id, isDown: isBy ? !sort.isDown : false });
          }}
        >
          {column.title}
          {isBy && <Icon name={sort.isDown ? "down" : "up"} />}
        </button>
      ) : (
        column.title
      )}
    </th>
  );
}

function TableRow<Row>(props: {
  row: Row;
  id: string;
  columns: readonly Column<Row>[];
  selection: Selection | undefined;
  pinned: number;
}) {
  const { selection, id, pinned } = props;
  const { jobs } = useTexts();
  const isSelected = selection?.ids.has(id);
  return (
    <tr aria-selected={selection ? isSelected : undefined}>
      {selection && (
        <td className={pinned ? "pinned" : undefined} style={pinOf(0, pinned)}>
          <input
            type="checkbox"
            className="tick"
            aria-label={jobs.select(selection.nameOf(id))}
            checked={isSelected}
            onChange={(event) => {
              const ids = new Set(selection.ids);
              if (event.target.checked) ids.add(id);
              else ids.delete(id);
              selection.onChange(ids);
            }}
          />
        </td>
      )}
      {props.columns.map((column, at) => (
        <Cell
          key={column.id}
          column={column}
          pin={pinOf(at + (selection ? 1 : 0), pinned)}
          row={props.row}
        />
      ))}
    </tr>
  );
}

/** Long text is cut with an ellipsis; all of it is said on pointing. */
function Cell<Row>(props: { column: Column<Row>; row: Row; pin: CSSProperties | undefined }) {
  const shown = props.column.cell(props.row);
  const text = textIn(shown);
  return (
    <td
      className={cellClass(props.column, props.pin)}
      style={props.pin}
      title={text.length > SHORT_CHARACTERS ? text : undefined}
    >
      {shown}
    </td>
  );
}

/** The text of what is made of elements; of other components only what they are given. */
function textIn(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textIn).filter(Boolean).join(" ");
  if (!isValidElement<{ children?: ReactNode }>(node)) return "";
  return textIn(node.props.children);
}

function SelectAll<Row>(props: {
  rows: readonly Row[];
  rowId: (row: Row) => string;
  selection: Selection;
  pin: CSSProperties | undefined;
}) {
  const { rows, rowId, selection, pin } = props;
  const { jobs } = useTexts();
  const box = useRef<HTMLInputElement>(null);
  const count = rows.filter((row) => selection.ids.has(rowId(row))).length;
  const isAll = rows.length > 0 && count === rows.length;
  useEffect(() => {
    if (box.current) box.current.indeterminate = count > 0 && !isAll;
  }, [count, isAll]);
  return (
    <th scope="col" className={pin && "pinned"} style={pin}>
      <input
        ref={box}
        type="checkbox"
        className="tick"
        aria-label={jobs.selectAll}
        checked={isAll}
        onChange={() => {
          selection.onChange(new Set(isAll ? [] : rows.map(rowId)));
        }}
      />
    </th>
  );
}

function Spacer(props: { height: number; width: number }) {
  return (
    <tr className="spacer" aria-hidden="true">
      <td colSpan={props.width} style={{ height: props.height }} />
    </tr>
  );
}

function cellClass<Row>(column: Column<Row>, pin: CSSProperties | undefined): string | undefined {
  const words = [
    pin ? "pinned" : "",
    column.isEnd ? "end number" : "",
    column.isClipped ? "clip" : "",
    column.isWideOnly ? "wide-only" : "",
  ];
  return words.filter(Boolean).join(" ") || undefined;
}
