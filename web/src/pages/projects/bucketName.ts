/** A name for the bucket of a project: what is not allowed in one becomes a hyphen. */
export function bucketNameOf(project: string): string {
  return project
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63);
}
