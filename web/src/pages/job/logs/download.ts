import { fetched } from "@/api/client";

const PART = 8 << 20;

/** Save a log of any length as a file. */
export async function download(
  address: (offset: number, limit: number) => string,
  name: string,
  total: number,
): Promise<void> {
  const parts: Blob[] = [];
  for (let offset = 0; offset < total;) {
    const response = await fetched(address(offset, PART));
    const next = Number(response.headers.get("X-Danlu-Next-Offset"));
    parts.push(await response.blob());
    if (next <= offset) break;
    offset = next;
  }
  const url = URL.createObjectURL(new Blob(parts, { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
