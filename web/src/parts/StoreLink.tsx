import { Link } from "@tanstack/react-router";

/** A path of the store as a link to it; other text as it is. */
export function StoreLink(props: { path: string }) {
  const place = placeIn(props.path);
  if (!place) return <code className="wrap">{props.path}</code>;
  return (
    <Link to="/store" search={place} className="wrap mono">
      {props.path}
    </Link>
  );
}

/** The bucket and folder of a path of the store. What looks like a file is opened in its folder. */
export function placeIn(
  path: string,
): { bucket: string; path?: string; file?: string } | undefined {
  const [, bucket, key = ""] = /^store:\/\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  if (bucket === undefined) return undefined;
  if (!key) return { bucket };
  const cut = key.lastIndexOf("/") + 1;
  const isFile = /\.[A-Za-z0-9]{1,8}$/.test(key.slice(cut));
  if (isFile) return { bucket, path: key.slice(0, cut) || undefined, file: key };
  return { bucket, path: key.endsWith("/") ? key : `${key}/` };
}
