// Files that people chose or dropped, with the paths that they have among each other.

export type Picked = { path: string; file: File };

/** What was chosen in a file dialog; of a folder, with the paths within it. */
export function pickedFrom(files: FileList): Picked[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** What was dropped, folders with all that is in them. Folders that are left out are not looked into. */
export async function droppedFrom(
  items: DataTransferItemList,
  isLeftOut: (folder: string) => boolean = () => false,
): Promise<Picked[]> {
  const entries = [...items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null);
  const found: Picked[] = [];
  for (const entry of entries) await walk(entry, found, isLeftOut);
  return found;
}

async function walk(
  entry: FileSystemEntry,
  found: Picked[],
  isLeftOut: (folder: string) => boolean,
): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => {
      (entry as FileSystemFileEntry).file(resolve, reject);
    });
    found.push({ path, file });
    return;
  }
  if (isLeftOut(path)) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // a reader gives at most a hundred at a time
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!some.length) return;
    for (const one of some) await walk(one, found, isLeftOut);
  }
}
