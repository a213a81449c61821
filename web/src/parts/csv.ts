// Reading tables that programs write: commas or tabs, quotes where they are needed.

/** Rows of cells, at most so many. A quote within quotes is doubled; lines may end within quotes. */
export function parseCsv(text: string, most = 200): string[][] {
  const separator =
    text.slice(0, 2000).includes("\t") && !text.slice(0, 200).includes(",") ? "\t" : ",";
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length < most; at++) {
    const char = text[at];
    if (isQuoted) {
      if (char === '"' && text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else if (char === '"') isQuoted = false;
      else cell += char ?? "";
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === separator) {
      row.push(cell);
      cell = "";
    } else if (char === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      row = [];
      cell = "";
    } else cell += char ?? "";
  }
  if ((cell || row.length) && rows.length < most) rows.push([...row, cell]);
  return rows;
}

type CsvCell = string | number | boolean | null | undefined;

/** Rows as a file that spreadsheets open. Text that one of them would take for a formula gets a quote before it. */
export function csvOf(rows: readonly (readonly CsvCell[])[]): string {
  return rows.map((row) => row.map(cellOf).join(",") + "\r\n").join("");
}

function cellOf(value: CsvCell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
