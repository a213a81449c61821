// The one client. Paths and bodies come from the server's own description (schema.d.ts is generated).
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";
import { ApiProblem, problemOf } from "./problem";

export type Schemas = components["schemas"];
export type Paths = paths;

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
let csrf = "";
let whenSignedOut: () => void = () => undefined;

/** The word that goes with what a browser session changes. It lives in memory only. */
export function setCsrf(word: string): void {
  csrf = word;
}

/** What to do when the server says that the session is over. */
export function onSignedOut(action: () => void): void {
  whenSignedOut = action;
}

export function csrfHeaders(): Record<string, string> {
  return csrf ? { "X-Danlu-CSRF": csrf } : {};
}

const session: Middleware = {
  onRequest({ request }) {
    if (!SAFE.has(request.method) && csrf) request.headers.set("X-Danlu-CSRF", csrf);
    return request;
  },
  onResponse({ response, schemaPath }) {
    if (response.status === 401 && schemaPath !== "/api/v1/session") whenSignedOut();
    return response;
  },
};

export const api = createClient<paths>({
  baseUrl: location.origin,
  querySerializer: { array: { style: "form", explode: true } },
});
api.use(session);

type Answered<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer. Throws an ApiProblem that people can read. */
export async function ok<T>(asked: Promise<Answered<T>>): Promise<T> {
  let answered: Answered<T>;
  try {
    answered = await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem(0, "Unreachable", "", {});
  }
  if (!answered.response.ok) throw problemOf(answered.response, answered.error);
  return answered.data as T;
}

/** An answer that is not JSON: bytes, text, a stream. Throws an ApiProblem like `ok`; `expected` names other statuses
 * that the caller knows what to do with. */
export async function fetched(
  address: string,
  init: RequestInit = {},
  expected: readonly number[] = [],
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem(0, "Unreachable", "", {});
  }
  if (response.status === 401) whenSignedOut();
  if (!response.ok && !expected.includes(response.status))
    throw problemOf(response, await response.json().catch(() => undefined));
  return response;
}

/** Whether the server can be reached now. */
export async function isAnswering(): Promise<boolean> {
  try {
    await fetch("/mark.svg", { method: "HEAD", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

type PathParams = Record<string, string | number>;
type QueryValue = string | number | boolean | undefined | readonly (string | number)[];

/** The address of a path of the API, for what is not fetched as JSON: streams, downloads, images. */
export function addressOf(
  path: keyof paths,
  params: PathParams = {},
  query: Record<string, QueryValue> = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name] ?? "")),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
}
