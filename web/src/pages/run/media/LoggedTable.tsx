import { useMemo, useState } from "react";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { showValue } from "@/parts/numbers";
import type { Table } from "./parsed";

type Row = { line: number; cells: unknown[] };

/** A table that a script logged. A click on the head of a column sorts it. */
export function LoggedTable(props: Table & { name: string }) {
  const { columns, types, rows, name } = props;
  const [sort, setSort] = useState<Sort>();
  const shown = useMemo(
    () =>
      columns.map((column, at) => columnOf(showValue(column), at, isNumeric(types[at], rows, at))),
    [columns, types, rows],
  );
  const lines = useMemo(() => rows.map((cells, line) => ({ line, cells })), [rows]);
  return (
    <DataTable<Row>
      label={name}
      rows={sorted(lines, shown, sort)}
      rowId={(row) => String(row.line)}
      columns={shown}
      sort={sort}
      onSort={setSort}
      maxHeight="22rem"
    />
  );
}

function isNumeric(type: unknown, rows: readonly unknown[][], at: number): boolean {
  if (typeof type === "string") return type === "number";
  return rows.every((row) => typeof row[at] === "number" || row[at] == null);
}

function columnOf(title: string, at: number, hasNumbers: boolean): Column<Row> {
  return {
    id: String(at),
    title,
    isEnd: hasNumbers,
    cell: ({ cells }) => (cells[at] == null ? "–" : showValue(cells[at])),
    sort: ({ cells }) => keyOf(cells[at], hasNumbers),
  };
}

function keyOf(cell: unknown, hasNumbers: boolean): string | number | undefined {
  if (cell == null) return undefined;
  if (hasNumbers) return typeof cell === "number" ? cell : undefined;
  return showValue(cell).toLowerCase();
}
