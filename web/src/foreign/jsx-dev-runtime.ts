import { Fragment, jsxDEV as element, type JSX } from "react/jsx-dev-runtime";
import { shownProps } from "./props";

export { Fragment };
export type { JSX };

export const jsxDEV: typeof element = (type, props, key, isStatic, source, self) => {
  const shown = typeof props === "object" && props !== null ? shownProps(type, props) : props;
  return element(type, shown, key, isStatic, source, self);
};
