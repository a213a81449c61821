/** Texts of the server's messages by their codes; in English the server has made them already. */
export const messages: {
  templates: Readonly<Record<string, string>>;
  /** A parameter as it is read in this language. */
  param: (name: string, value: string) => string;
  /** Between two sentences of one text. */
  and: string;
  /** After what something is told of. */
  of: string;
  /** What went wrong where the server has no words of its own for it. */
  answered: (status: number) => string;
  tooManyPages: (most: number) => string;
  stillMissing: string;
  incomplete: (file: string) => string;
} = {
  templates: {},
  param: (_, value) => value,
  and: "; ",
  of: ": ",
  answered: (status) => `The server answered with status ${String(status)}.`,
  tooManyPages: (most) => `The list has more than ${String(most)} pages.`,
  stillMissing: "Files are still missing on the server after they were sent. Try again.",
  incomplete: (file) => `${file} did not arrive completely. Try again.`,
};
