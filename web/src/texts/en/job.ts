export const job = {
  why: "Why",
};
