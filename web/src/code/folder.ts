// A folder of one's own machine becomes code of a job: read, hashed, and sent by content.
import { sendTree, type Sent } from "@/api/trees";
import type { Picked } from "@/parts/picked";
import { hashFiles } from "./hash";
import { IGNORE_FILE, ignoring } from "./ignore";

export const MOST_BYTES = 512 << 20;
export const MOST_FILES = 100_000;

export type Folder = { name: string; files: Picked[]; numLeftOut: number };

/** What of the picked files is code: without what is ignored, and with paths from within the one folder they are in. */
export async function folderOf(picked: readonly Picked[]): Promise<Folder> {
  const tops = new Set(picked.map(({ path }) => (path.includes("/") ? path.split("/")[0] : "")));
  const [top = ""] = tops.size === 1 ? tops : [];
  const inside = picked.map(({ path, file }) => ({
    path: top ? path.slice(top.length + 1) : path,
    file,
  }));
  const own = inside.find(({ path }) => path === IGNORE_FILE);
  const isOut = ignoring(own ? (await own.file.text()).split("\n") : []);
  const files = inside.filter(({ path }) => !isOut(path));
  return { name: top, files, numLeftOut: inside.length - files.length };
}

export class TooMuchCode extends Error {
  constructor(
    readonly why: "empty" | "files" | "bytes",
    readonly largest: readonly Picked[],
  ) {
    super(why);
  }
}

export type Progress =
  { step: "reading"; done: number; total: number } | ({ step: "sending" } & Sent);

/** Bring a folder to the server and return the digest of its tree. Throws TooMuchCode before anything is read. */
export async function sendFolder(
  folder: Folder,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<string> {
  check(folder);
  const total = folder.files.length;
  onProgress({ step: "reading", done: 0, total });
  const hashed = await hashFiles(
    folder.files.map(({ file }) => file),
    signal,
    (at) => {
      onProgress({ step: "reading", done: at + 1, total });
    },
  );
  const files = folder.files.map(({ path, file }, at) => ({
    path,
    sha256: hashed[at]?.sha256 ?? "",
    size: file.size,
    is_executable: hashed[at]?.isScript ?? false,
    bytes: file,
  }));
  return sendTree(files, signal, (sent) => {
    onProgress({ step: "sending", ...sent });
  });
}

function check({ files }: Folder): void {
  if (!files.length) throw new TooMuchCode("empty", []);
  const largest = files.toSorted((a, b) => b.file.size - a.file.size).slice(0, 3);
  if (files.length > MOST_FILES) throw new TooMuchCode("files", largest);
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  if (bytes > MOST_BYTES) throw new TooMuchCode("bytes", largest);
}
