import type { LinkProps } from "@tanstack/react-router";
import type { FlowNode } from "@/api/flow";

/** The page of a thing; undefined for what has none, or is not ours to see. */
export function placeOf(node: FlowNode): LinkProps | undefined {
  const { key } = node;
  if (node.is_hidden || key == null) return undefined;
  if (node.kind === "run") return { to: "/experiments/$id", params: { id: key } };
  if (node.kind === "job") return { to: "/jobs/$id", params: { id: key } };
  if (node.kind === "artifact") return { to: "/artifacts/$id", params: { id: key } };
  if (node.kind === "store") return storePlace(key);
  if (node.kind === "model") {
    const at = (node.label ?? "").lastIndexOf(":");
    if (at < 1) return undefined;
    const [name, version] = [node.label?.slice(0, at) ?? "", node.label?.slice(at + 1)];
    return {
      to: "/models/$name",
      params: { name },
      search: { version, ...(node.project ? { project: node.project } : {}) },
    };
  }
  return undefined;
}

/** `bucket/folder/` or `bucket/folder/file`. */
export function storePlace(key: string): LinkProps {
  const slash = key.indexOf("/");
  const bucket = slash < 0 ? key : key.slice(0, slash);
  const rest = slash < 0 ? "" : key.slice(slash + 1);
  if (rest === "" || rest.endsWith("/"))
    return { to: "/store", search: { bucket, path: rest || undefined } };
  const folder = rest.slice(0, rest.lastIndexOf("/") + 1);
  return { to: "/store", search: { bucket, path: folder || undefined, file: rest } };
}
