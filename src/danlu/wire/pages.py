"""Pages that the server and the proxy make themselves: HTML without scripts, in the reader's language.

`Html` is markup; every other value is escaped where it enters a page.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape

from danlu.spec.messages.languages import TAGS, Language, Words, word

STYLE = """\
:root{color-scheme:light dark;--canvas:#f6f5f3;--surface:#fff;--line:#e4e1dc;--strong:#8f8a82;--text:#1d1b18;
--muted:#57524b;--soft:#f1efec;--accent:#2a50c0;--fill:#2a50c0}
@media(prefers-color-scheme:dark){:root{--canvas:#131211;--surface:#1b1a18;--line:#322f2b;--strong:#7d776e;
--text:#edeae5;--muted:#b3ada4;--soft:#262422;--accent:#9db8ff;--fill:#3d63d3}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;padding:1.5rem 1rem;background:var(--canvas);color:var(--text);overflow-wrap:anywhere;
font:1rem/1.6 system-ui,-apple-system,"Segoe UI","PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif}
main{max-width:30rem;margin:8vh auto 0;padding:1.5rem;background:var(--surface);border:1px solid var(--line);
border-radius:10px}
.name{margin:0;color:var(--muted);font-size:.9rem}
h1{margin:.25rem 0 1rem;font-size:1.4rem;line-height:1.3}
p{margin:0 0 1rem;text-wrap:pretty}
main>:last-child,form>:last-child{margin-bottom:0}
form{margin:0 0 1rem}
label{display:block;font-weight:600}
small{display:block;color:var(--muted)}
input{display:block;width:100%;margin:.35rem 0;padding:.5rem .75rem;font:inherit;color:inherit;
background:var(--canvas);border:1px solid var(--strong);border-radius:6px}
button,.button{display:inline-block;padding:.5rem 1.25rem;font:inherit;font-weight:600;color:#fff;
background:var(--fill);border:0;border-radius:6px;cursor:pointer;text-decoration:none}
a{color:var(--accent)}
a.button{color:#fff}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code{padding:.1rem .3rem;background:var(--soft);border-radius:4px;font:.9em ui-monospace,Menlo,Consolas,monospace}
code.line{display:block;line-height:1.5;margin-top:.35rem;padding:.5rem .75rem}
"""
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; base-uri 'none'"
)
"""What a page may load and run: its own style, and nothing else."""


class Html(str):
    """Markup; what users named is escaped in it."""


def html(template: str, /, **values: str) -> Html:
    """Markup with values in it."""
    return Html(template.format_map({name: _escaped(value) for name, value in values.items()}))


def told(words: Words, code: str, /, *, language: Language, **values: str) -> Html:
    """Words in a language, with values in them."""
    return html(escape(word(words, code, language=language)), **values)


def joined(*parts: Html) -> Html:
    return Html("".join(parts))


def whole_page(title: str, body: Html, *, language: Language) -> Html:
    return html(
        '<!doctype html><html lang="{tag}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title} - Danlu</title>'
        '<style>{style}</style></head><body><main><p class="name">Danlu 丹炉</p><h1>{title}</h1>{body}</main></body>'
        "</html>",
        tag=TAGS[language],
        title=title,
        style=Html(STYLE),
        body=body,
    )


def sentence(message: str, language: Language) -> Html:
    """A message as a sentence of its own; what it has in backticks is code."""
    text = message if message.endswith((".", "。", "?", "？")) else f"{message}{'。' if language == 'zh' else '.'}"
    if re.match("[a-z]+ ", text):
        text = f"{text[0].upper()}{text[1:]}"
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one without its partner
        return Html(escape(text))
    return joined(*(html("<code>{text}</code>" if at % 2 else "{text}", text=one) for at, one in enumerate(parts)))


def _escaped(value: str) -> str:
    return value if isinstance(value, Html) else escape(value)
