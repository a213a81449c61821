import { Fragment, jsx as element, jsxs as elements, type JSX } from "react/jsx-runtime";
import { shownProps } from "./props";

export { Fragment };
export type { JSX };

export const jsx: typeof element = (type, props, key) => element(type, shown(type, props), key);

export const jsxs: typeof elements = (type, props, key) => elements(type, shown(type, props), key);

function shown(type: unknown, props: unknown): unknown {
  return typeof props === "object" && props !== null ? shownProps(type, props) : props;
}
