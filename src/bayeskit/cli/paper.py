"""A piece of HTML as a page that stands alone: no script, no font and no style from anywhere else."""

from __future__ import annotations

from bayeskit.visible import escape

_STYLE = (
    "body{font:16px/1.5 system-ui,'Noto Sans CJK SC','Microsoft YaHei','PingFang SC',sans-serif;margin:2rem auto;"
    "max-width:60rem;padding:0 1rem;color:#222;background:#fff}table{border-collapse:collapse;display:block;"
    "overflow-x:auto}caption,th,td{text-align:left;padding:.2rem .8rem .2rem 0}caption{font-weight:bold}"
    "thead th{border-bottom:1px solid #888}p{margin:.3rem 0;color:#666;font-size:.9rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}p{color:#aaa}}"
)


def as_document(title: str, body: str, lang: str) -> str:
    """Return the whole page; the title is escaped, the body is taken as it is.

    Examples
    --------
    >>> as_document("<x>", "<p>1</p>", "en").count("&lt;x&gt;")
    1
    """
    language = "zh-CN" if lang == "zh" else "en"
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>{body}</body></html>"
    )
