import type { Folder } from "@/api/runs";

export type FolderNode = {
  path: string;
  name: string;
  /** In it and below it. */
  numRuns: number;
  children: FolderNode[];
};

/** Folders as a tree. Of several projects, those with the same path are one. */
export function folderTree(folders: readonly Folder[], project: string | undefined): FolderNode {
  const root: FolderNode = { path: "", name: "", numRuns: 0, children: [] };
  for (const folder of folders) {
    if (project !== undefined && folder.project !== project) continue;
    root.numRuns += folder.num_runs;
    let here = root;
    const parts = folder.path.split("/").filter(Boolean);
    for (const [depth, name] of parts.entries()) {
      const path = parts.slice(0, depth + 1).join("/");
      let child = here.children.find((one) => one.name === name);
      if (!child) {
        child = { path, name, numRuns: 0, children: [] };
        here.children.push(child);
      }
      child.numRuns += folder.num_runs;
      here = child;
    }
  }
  sortAll(root);
  return root;
}

function sortAll(node: FolderNode): void {
  node.children.sort((a, b) => a.name.localeCompare(b.name));
  for (const child of node.children) sortAll(child);
}

/** All nodes that are to be seen, top to bottom, with their depth: open ones and those on the way to the chosen one. */
export function shownNodes(
  root: FolderNode,
  isOpen: (path: string) => boolean,
): { node: FolderNode; depth: number }[] {
  const found: { node: FolderNode; depth: number }[] = [];
  const visit = (node: FolderNode, depth: number) => {
    for (const child of node.children) {
      found.push({ node: child, depth });
      if (isOpen(child.path)) visit(child, depth + 1);
    }
  };
  visit(root, 0);
  return found;
}
