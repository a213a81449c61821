/** A failure in the one shape that the server has for them. `status` is 0 when it did not answer at all. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Field -> what is wrong with it. */
    readonly fields: Readonly<Record<string, string>>,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = "ApiProblem";
  }
}

export function problemOf(response: Response, body: unknown): ApiProblem {
  const told = isWire(body) ? body : undefined;
  const wait = Number(response.headers.get("Retry-After"));
  return new ApiProblem(
    response.status,
    told?.error ?? `HTTP${String(response.status)}`,
    told?.message ?? response.statusText,
    told?.fields ?? {},
    wait > 0 ? wait : undefined,
  );
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(
    -1,
    "Unexpected",
    error instanceof Error ? error.message : String(error),
    {},
  );
}

type Wire = { error: string; message: string; fields?: Record<string, string> };

function isWire(body: unknown): body is Wire {
  return typeof body === "object" && body !== null && "error" in body && "message" in body;
}
