import {
  Link,
  RouterProvider,
  createMemoryHistory,
  createRootRoute,
  createRouter,
} from "@tanstack/react-router";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

const OVERRIDE = "photo\u202Egpj.exe";
const SHOWN = "photo\\u202Egpj.exe";

test("a name stays text, whatever is in it", () => {
  const name = `<img src=x onerror="alert(1)">${OVERRIDE}`;
  expect(renderToStaticMarkup(<b>{name}</b>)).toBe(
    `<b>&lt;img src=x onerror=&quot;alert(1)&quot;&gt;${SHOWN}</b>`,
  );
});

test("text between other things, lists of texts and attributes too", () => {
  const names = [OVERRIDE, "plain"];
  const made = renderToStaticMarkup(
    <ul title={OVERRIDE} aria-label={OVERRIDE}>
      {OVERRIDE} <li>{names}</li>
      <img alt={OVERRIDE} />
    </ul>,
  );
  expect(made).not.toContain("\u202E");
  expect(made.split(SHOWN)).toHaveLength(6);
});

test("a line end in a name is shown, in a text it ends the line", () => {
  const text = "one\n\ttwo";
  expect(renderToStaticMarkup(<b>{text}</b>)).toBe("<b>one\\n\\ttwo</b>");
  expect(renderToStaticMarkup(<p>{text}</p>)).toBe(`<p>${text}</p>`);
  expect(renderToStaticMarkup(<b data-lines>{text}</b>)).toContain(text);
});

test("what is left out of a long name is said on pointing", () => {
  const name = "a".repeat(300);
  const made = renderToStaticMarkup(<b>{name}</b>);
  expect(made).toContain(`title="${name}"`);
  expect(made).toContain("…");
  expect(renderToStaticMarkup(<pre>{name}</pre>)).toBe(`<pre>${name}</pre>`);
});

test("what is typed is not changed", () => {
  const made = renderToStaticMarkup(<input defaultValue={OVERRIDE} />);
  expect(made).toContain(OVERRIDE);
});

test("elements without such characters are as they were", () => {
  const props = { className: "a", children: ["b", 1, null, <i key="i">c</i>] };
  expect((<b {...props} />).props).toEqual(props);
});

test("the text of a link of the router", async () => {
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <Link to="/">{`${OVERRIDE}\n`}</Link> }),
    history: createMemoryHistory(),
  });
  const place = document.createElement("div");
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  await act(async () => {
    createRoot(place).render(<RouterProvider router={router} />);
    await router.load();
  });
  expect(place.textContent).toBe(`${SHOWN}\\n`);
});
