import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import { Code } from "./Code";

/** Notes that people wrote in Markdown. Only text, links to the web and the usual marks come of it: no HTML, no images. */
export function Markdown(props: { text: string }) {
  return <div className="markdown">{blocks(lexer(props.text))}</div>;
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      return depth <= 2 ? <h3>{inlines(tokens)}</h3> : <h4>{inlines(tokens)}</h4>;
    }
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "code":
      return <Code text={(token as Tokens.Code).text} />;
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list": {
      const { ordered, items } = token as Tokens.List;
      const entries = items.map((item, index) => <li key={index}>{blocks(item.tokens)}</li>);
      return ordered ? <ol>{entries}</ol> : <ul>{entries}</ul>;
    }
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "space":
      return null;
    default:
      return inlines("tokens" in token && token.tokens ? token.tokens : [token]);
  }
}

function Table(props: { table: Tokens.Table }) {
  const { header, rows } = props.table;
  return (
    <div className="table-scroll" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col">
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{inline(token)}</Fragment>);
}

function inline(token: Token): ReactNode {
  const inner = "tokens" in token && token.tokens ? inlines(token.tokens) : undefined;
  switch (token.type) {
    case "strong":
      return <strong>{inner}</strong>;
    case "em":
      return <em>{inner}</em>;
    case "del":
      return <del>{inner}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href } = token as Tokens.Link;
      if (!/^https?:\/\//i.test(href)) return inner;
      return (
        <a href={href} title={href} target="_blank" rel="noopener noreferrer">
          {inner}
        </a>
      );
    }
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return inner ?? (token as Tokens.Text).text;
    default:
      return token.raw; // HTML and images stay the text that they are
  }
}
