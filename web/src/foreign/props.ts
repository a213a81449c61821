// The one place through which all text of the console passes on its way to the screen. Names, tags, messages and log
// lines come from other people; components need no code of their own for it, and cannot forget it.
import { visible, visibleLine } from "./visible";

const ATTRIBUTES = ["title", "aria-label", "alt", "placeholder", "label"] as const;

/** Elements whose text may have several lines. In all others a line end is shown as `\n`. */
const OF_LINES = new Set(["pre", "textarea", "p", "div"]);

type Props = Record<string, unknown>;
type Show = (text: string) => string;

/** The properties of an element with its texts made visible; the same object when there is nothing to change. What people
 * type (`value`) stays as it is: fields say by themselves what is hidden in it. */
export function shownProps<P extends object>(type: unknown, given: P): P {
  const props = given as Props;
  let changed: Props | undefined;
  for (const name of ATTRIBUTES) {
    const before = props[name];
    if (typeof before !== "string") continue;
    const after = visible(before);
    if (after !== before) (changed ??= { ...props })[name] = after;
  }
  const show = showOf(type, props);
  const children = shownChildren(props.children, show);
  if (children !== props.children) {
    changed ??= { ...props };
    changed.children = children;
    // what was left out is said on pointing
    const whole = typeof props.children === "string" ? visible(props.children) : "";
    if (typeof children === "string" && children.length < whole.length) changed.title ??= whole;
  }
  return (changed ?? props) as P;
}

function showOf(type: unknown, props: Props): Show {
  if (typeof type === "string")
    return OF_LINES.has(type) || "data-lines" in props ? visible : visibleLine;
  // a link of the router makes its element without us; other components make theirs here
  return "to" in props ? visibleLine : visible;
}

function shownChildren(children: unknown, show: Show): unknown {
  if (typeof children === "string") return show(children);
  if (!Array.isArray(children)) return children;
  const before = children as unknown[];
  const after = before.map((child) =>
    typeof child === "object" ? child : shownChildren(child, show),
  );
  return after.some((child, index) => child !== before[index]) ? after : children;
}
