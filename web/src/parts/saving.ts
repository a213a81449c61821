// Saving what the console has, under a name that other people chose.
import { withoutHidden } from "@/foreign/visible";

const KEPT_MS = 10_000;
const MOST_CHARACTERS = 150;

/** Hand bytes to the browser to save. */
export function saveAs(bytes: Blob, path: string): void {
  const address = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName(path);
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, KEPT_MS);
}

/** The last part of a path as a file can be called: nothing hidden, so that `.exe` does not look like `.png`. The end is
 * kept of a long name. */
export function fileName(path: string): string {
  const last = path.split("/").findLast((part) => part !== "") ?? "file";
  const plain = withoutHidden(last.replace(/[\n\t]/g, "_"), () => "_").replace(/[<>:"\\|?*]/g, "_");
  const characters = Array.from(plain);
  return characters.slice(Math.max(0, characters.length - MOST_CHARACTERS)).join("");
}
