export const views = {
  title: "Views",
  save: "Save as view",
  saveText:
    "Filter, columns, group, zoom and charts as they are now. Your view of the same name is replaced.",
  name: "Name",
  project: "Project",
  share: "Share with all members of the project",
  savedAs: (name: string) => `View “${name}” was saved`,
  mine: "Only you",
  shared: (project: string) => `Shared in ${project}`,
  by: (owner: string, project: string) => `By ${owner} in ${project}`,
  copy: (name: string) => `Copy the link to ${name}`,
  copied: "Link copied",
  delete: (name: string) => `Delete ${name}`,
  deleteTitle: (name: string) => `Delete the view “${name}”?`,
  deleteText: (project: string) => `It is shared in ${project}. Links to it will no longer work.`,
  deleted: (name: string) => `View “${name}” was deleted`,
};
