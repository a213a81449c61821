/** The same keys with any text: what one language lacks, or has too much, does not compile. */
export type Same<T> = {
  [Key in keyof T]: T[Key] extends string
    ? string
    : T[Key] extends (...args: infer Args) => string
      ? (...args: Args) => string
      : Same<T[Key]>;
};
