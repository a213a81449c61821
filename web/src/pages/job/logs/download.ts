import { fetched } from "@/api/client";
import { saveAs } from "@/parts/saving";

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
  saveAs(new Blob(parts, { type: "text/plain" }), name);
}
