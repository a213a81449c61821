import type { RunSummary } from "@/api/runs";
import { csvOf } from "@/parts/csv";
import type { Column } from "@/parts/DataTable";

/** The table as it is seen, with whole values: one row per run, and its id. */
export function tableAsCsv(
  rows: readonly RunSummary[],
  columns: readonly Column<RunSummary>[],
): string {
  const others = columns.filter((column) => column.id !== "id");
  const head = ["id", ...others.map((column) => column.id)];
  return csvOf([
    head,
    ...rows.map((row) => [
      row.id,
      ...others.map((column) => column.text?.(row) ?? column.sort?.(row)),
    ]),
  ]);
}
