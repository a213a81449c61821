import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown } from "./Markdown";

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

test("the usual marks are what they mean", () => {
  expect(html("**bold** and `code`")).toContain("<strong>bold</strong> and <code>code</code>");
  expect(html("- one\n- two")).toContain("<ul><li>one</li><li>two</li></ul>");
  expect(html("[docs](https://example.org)")).toContain('href="https://example.org"');
});

test("HTML, images and other links are only text", () => {
  expect(html("<img src=x onerror=alert(1)>")).not.toContain("<img");
  expect(html("![x](https://example.org/x.png)")).not.toContain("<img");
  expect(html("[x](javascript:alert(1))")).not.toContain("href");
  expect(html("a <b>bold</b>")).toContain("&lt;b&gt;");
});
