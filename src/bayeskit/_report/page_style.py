"""The look of pages: one typeface, one palette for light and dark, a grid, and tables that can be sorted.

A page is complete without scripts; the one here sorts a table by the column whose heading is pressed.
"""

from __future__ import annotations

from bayeskit._report.charts.axis import COLOURS
from bayeskit._report.scene import FONT

_LIGHT = (
    "--ink:#26323a;--faint:#4b5963;--page:#f4f5f3;--card:#fcfcfa;--line:#d5dadd;--accent:#2a66ab;"
    "--warn:#8a5a00;--warn-card:#fbf1da;--hit:42,102,171;--miss:194,87,26"
)
_DARK = (
    "--ink:#e8ecef;--faint:#b9c3ca;--page:#0f1214;--card:#16191c;--line:#3a434a;--accent:#82b4ee;"
    "--warn:#e0ab3f;--warn-card:#2b2412;--hit:130,180,238;--miss:240,160,106"
)


def _classes(shade: int) -> str:
    return ";".join(f"--c{k}:{pair[shade]}" for k, pair in enumerate(COLOURS[:4]))


STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT};{_classes(0)}}}
@media(prefers-color-scheme:dark){{:root{{{_DARK};{_classes(1)}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:84rem;padding:1.5rem 1.25rem 4rem;color:var(--ink);background:var(--page);
font:16px/1.55 {FONT};overflow-wrap:anywhere}}
h1{{font-size:1.7rem;line-height:1.25;margin:.5rem 0 .2rem}}
h2{{font-size:1.15rem;line-height:1.3;margin:0 0 .5rem}}
h3{{font-size:1rem;margin:1.2rem 0 .3rem}}
p{{margin:.4rem 0;max-width:52rem}}
.faint,caption,small{{color:var(--faint)}}
.cards,.grid{{display:grid;gap:1rem;margin:1rem 0}}
.cards{{grid-template-columns:repeat(auto-fit,minmax(min(10rem,100%),1fr))}}
.grid{{grid-template-columns:repeat(auto-fit,minmax(min(34rem,100%),1fr));align-items:start}}
.grid>*{{min-width:0}}.grid>svg,.grid section>svg{{width:min(100%,32rem)}}.grid>div>:first-child{{margin-top:0}}
.card,section,.verdict{{background:var(--card);border:1px solid var(--line);border-radius:10px;min-width:0}}
.card{{padding:.8rem 1rem}}
.card>*{{display:block}}
small.below{{display:block}}
.card small{{font-size:.82rem;line-height:1.4}}
.card b{{font-size:1.65rem;line-height:1.25;font-variant-numeric:tabular-nums;font-weight:650}}
.card b.name{{font-size:1.25rem;line-height:1.65rem;white-space:normal}}
.card.warn{{background:var(--warn-card);border-color:var(--warn)}}.card.warn b{{color:var(--warn)}}
section{{padding:1rem 1.1rem 1.1rem;margin:1rem 0}}.grid>section{{margin:0}}.grid>div>:last-child{{margin-bottom:0}}
.verdict{{font-size:1.1rem;padding:.9rem 1.1rem;margin:1rem 0;border-left:4px solid var(--accent);max-width:none}}
.verdict p{{max-width:70rem}}.verdict p+p{{font-size:.95rem;color:var(--faint)}}
ul.warnings{{list-style:none;margin:0;padding:0}}
ul.warnings li{{padding:.5rem .8rem;margin:.4rem 0;background:var(--warn-card);border-left:4px solid var(--warn);
border-radius:6px}}
.wide{{overflow-x:auto;margin:.6rem 0}}.tall{{max-height:36rem;border:1px solid var(--line)}}
.wide p{{color:var(--faint);font-size:.88rem}}
table{{border-collapse:collapse;font-size:.9rem}}
caption{{text-align:left;padding:.2rem 0;font-weight:600}}
th,td{{text-align:left;padding:.28rem .9rem .28rem 0;vertical-align:top;overflow-wrap:normal}}
th{{font-weight:600}}thead th{{border-bottom:1px solid var(--faint);vertical-align:bottom}}
tbody tr+tr>*{{border-top:1px solid var(--line)}}tbody tr:hover>*{{background:rgba(var(--hit),.08)}}
.n{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
.name{{white-space:nowrap}}
.wide th,.wide td{{word-break:keep-all}}
.wide th:first-child,.wide td:first-child{{min-width:4.5em}}.wide td:nth-child(2){{min-width:6em}}
.matrix th,.matrix td{{padding:.4rem .7rem;border:1px solid var(--line);text-align:right}}
.matrix tbody tr:hover>.hit{{background:rgba(var(--hit),var(--share))}}
.matrix tbody tr:hover>.miss{{background:rgba(var(--miss),var(--share))}}
.hit{{background:rgba(var(--hit),var(--share))}}.miss{{background:rgba(var(--miss),var(--share))}}
.meter{{display:block;width:8rem;max-width:26vw;height:.7rem;background:var(--line);border-radius:3px;margin-top:.35rem}}
.grid .meter{{width:5.5rem}}.meter>span{{display:block;height:100%;background:var(--accent);border-radius:3px}}
.spark{{display:inline-flex;gap:3px;height:2.1rem;align-items:flex-end}}
.spark>span{{display:inline-flex;gap:1px;height:100%;align-items:flex-end;border-bottom:1px solid var(--line)}}
.spark>span>span{{width:5px;min-height:1px;border-radius:1px 1px 0 0}}
.key{{margin-right:1rem;white-space:nowrap}}
.key>span{{display:inline-block;width:.7rem;height:.7rem;border-radius:2px;margin-right:.35rem}}
.c0{{background:var(--c0)}}.c1{{background:var(--c1)}}.c2{{background:var(--c2)}}.c3{{background:var(--c3)}}
code,pre{{font:.86rem/1.5 ui-monospace,Consolas,"Noto Sans Mono","Noto Sans Mono CJK SC",monospace}}
td code{{overflow-wrap:anywhere}}
details{{margin:.5rem 0}}summary{{cursor:pointer;color:var(--accent);font-weight:600}}
pre{{margin:.4rem 0;padding:.7rem .9rem;overflow-x:auto;white-space:pre-wrap;border:1px solid var(--line);
border-radius:6px}}
svg{{max-width:100%;height:auto;display:block}}.wide svg{{max-width:none}}
sup{{line-height:0}}sup a,a{{color:var(--accent);text-decoration:none}}
ol.words{{padding-left:1.4rem;font-size:.92rem;max-width:52rem}}
th[aria-sort]{{cursor:pointer}}th[aria-sort=ascending]::after{{content:" ▴"}}
th[aria-sort=descending]::after{{content:" ▾"}}
@page{{size:A4;margin:15mm}}
@media print{{:root{{{_LIGHT};--page:#fff}}body{{padding:0;font-size:10pt;max-width:none;
-webkit-print-color-adjust:exact;print-color-adjust:exact}}
.grid{{display:block}}section{{margin:.6rem 0}}
.wide,pre{{overflow:visible;max-height:none}}
.wide svg{{max-width:100%}}table{{font-size:8pt}}th,td{{padding-right:.5rem}}
h2,h3,.faint,caption,thead{{break-after:avoid}}tr,svg,.verdict,.card,li{{break-inside:avoid}}
.name,.n{{white-space:normal}}}}
"""

# Sorts by the first number of a cell, else by its text. A third press is as good as the first.
SCRIPT = """
document.querySelectorAll("table").forEach(function (table) {
  var head = table.tHead, body = table.tBodies[0];
  if (!head || !body || body.rows.length < 3 || table.classList.contains("matrix")) return;
  Array.prototype.forEach.call(head.rows[0].cells, function (cell, column) {
    cell.setAttribute("aria-sort", "none");
    cell.setAttribute("tabindex", "0");
    function value(row) {
      var text = row.cells[column] ? row.cells[column].textContent.trim() : "";
      var number = parseFloat(text.replace(/,/g, "").replace("\\u2212", "-").replace(/^[<+]\\s*/, ""));
      return isNaN(number) ? text : number;
    }
    function sort() {
      var down = cell.getAttribute("aria-sort") === "ascending";
      Array.prototype.forEach.call(head.rows[0].cells, function (each) { each.setAttribute("aria-sort", "none"); });
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      Array.prototype.slice.call(body.rows).sort(function (a, b) {
        var one = value(a), other = value(b);
        var order = typeof one === typeof other ? (one > other) - (one < other) : typeof one === "number" ? -1 : 1;
        return down ? -order : order;
      }).forEach(function (row) { body.appendChild(row); });
    }
    cell.addEventListener("click", function (event) { if (event.target.tagName !== "A") sort(); });
    cell.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
  });
});
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (each) { each.open = true; });
});
"""
