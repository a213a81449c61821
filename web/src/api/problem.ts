import { spoken, told } from "@/texts/told";
import type { Schemas } from "./client";

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
  const wire = isWire(body) ? body : undefined;
  const wait = Number(response.headers.get("Retry-After"));
  return new ApiProblem(
    response.status,
    wire?.error ?? `HTTP${String(response.status)}`,
    wire ? messageOf(wire) : spoken().answered(response.status),
    wire ? inLanguage(wire) : {},
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

/** What is wrong with fields, in the reader's language. */
function inLanguage({ fields = {}, said = {} }: Wire): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([field, text]) => [field, told(spoken(), said[field], text)]),
  );
}

/** The message in the reader's language. One that is made of fields is made of them again. */
function messageOf(wire: Wire): string {
  const said = wire.message_said;
  if (said && said.code !== "text") return told(spoken(), said, wire.message);
  const isOfFields = "required" in spoken().templates && Object.keys(wire.fields ?? {}).length > 0;
  if (!isOfFields) return wire.message;
  const { and, of } = spoken();
  return Object.entries(inLanguage(wire))
    .map(([field, text]) => `${field}${of}${text}`)
    .join(and);
}

type Wire = {
  error: string;
  message: string;
  fields?: Record<string, string>;
  said?: Record<string, Schemas["Message"]>;
  message_said?: Schemas["Message"] | null;
};

function isWire(body: unknown): body is Wire {
  return typeof body === "object" && body !== null && "error" in body && "message" in body;
}
