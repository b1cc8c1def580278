/** The report's one style sheet: light and dark by the reader's preference, from a phone's width up, printable. */
export const reportStyle = `
:root{color-scheme:light dark;--page:#fafaf8;--card:#fff;--ink:#1b1d22;--soft:#646a76;--line:#e4e4df;--grid:#ecece8;
--accent:#1f6feb;--accent-ink:#fff;--before:#9aa1ad;--good:#12805c;--bad:#c2410c;--heat:#1f6feb;--up:31,111,235;--down:217,95,2;--user:#f1f1ed}
@media (prefers-color-scheme:dark){:root{--page:#111317;--card:#191c22;--ink:#e8eaee;--soft:#9aa1ad;--line:#2b2f38;--grid:#262a32;
--accent:#6ea8fe;--accent-ink:#0b1220;--before:#767d8a;--good:#4cc38a;--bad:#ff9f5a;--heat:#4d8df6;--up:88,148,255;--down:255,140,50;--user:#22262e}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 64px}
h1{font-size:28px;line-height:1.2;margin:0;letter-spacing:-.02em}h2{font-size:19px;margin:44px 0 4px;letter-spacing:-.01em}
h3{font-size:14px;margin:18px 0 6px;color:var(--soft);font-weight:600}
p{margin:4px 0 14px;max-width:92ch}.soft,small,figcaption small{color:var(--soft);font-weight:400}small{font-size:12px}
header .kicker{color:var(--accent);font-weight:700;font-size:13px;letter-spacing:.08em;text-transform:uppercase}
header .facts{color:var(--soft);margin-top:6px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(164px,1fr));gap:10px;margin:22px 0 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:12px 14px}
.card .name{color:var(--soft);font-size:13px}.card .value{font-size:23px;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums;white-space:nowrap}
.card .value .was{color:var(--before);font-weight:500}.card .value .arrow{color:var(--soft);font-weight:400;padding:0 .2em;font-size:.8em}
.card .delta{font-size:13px;font-weight:600}.up{color:var(--good)}.down{color:var(--bad)}
.panel{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:8px 14px;overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:7px 8px;text-align:right;border-top:1px solid var(--line);white-space:nowrap}
thead th{border-top:0;color:var(--soft);font-weight:500;font-size:12.5px;vertical-align:bottom}
th:first-child,td:first-child{text-align:left}tbody th{font-weight:600}tr.all th,tr.all td{font-weight:650;border-top:2px solid var(--line)}
td small{display:block;line-height:1.2}
.interval{width:150px;height:20px;display:block}.interval .axis{stroke:var(--grid);stroke-width:2}.interval .ci{stroke-width:4;stroke-linecap:round;opacity:.38}
.interval .before{stroke:var(--before);fill:var(--before)}.interval .after{stroke:var(--accent);fill:var(--accent)}.interval .dot{stroke:none}
.interval .random{stroke:var(--bad);stroke-width:2;stroke-dasharray:3 2}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:12px}
.chart{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:10px 8px 2px}
.chart figcaption{font-weight:600;font-size:14px;padding:0 6px 2px}.chart svg{width:100%;height:auto;display:block}
.chart .none{color:var(--soft);padding:20px 6px}.grid{stroke:var(--grid)}.tick{fill:var(--soft);font-size:10.5px;font-variant-numeric:tabular-nums}
.line{fill:none;stroke:var(--accent);stroke-linejoin:round;stroke-linecap:round}.line.strong{stroke-width:2.2}.line.faint{stroke-width:1;opacity:.28}.end{fill:var(--accent)}
.heats{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));gap:12px}
table.heat{font-size:12.5px;table-layout:fixed;min-width:400px;border-spacing:2px;border-collapse:separate}table.heat th,table.heat td{border:0;padding:6px 2px;text-align:center}
table.heat th:first-child{text-align:left;width:84px;overflow:hidden;text-overflow:ellipsis;padding-right:6px}
table.heat td{border-radius:5px;background:color-mix(in oklab,var(--heat) calc(var(--v)*1%),var(--page))}table.heat td.hi{color:var(--accent-ink);font-weight:600}table.heat td.empty{background:none;color:var(--soft)}
.scale{display:inline-block;width:110px;height:10px;border-radius:5px;vertical-align:-1px;margin:0 6px;background:linear-gradient(90deg,var(--page),var(--heat));border:1px solid var(--line)}
details{background:var(--card);border:1px solid var(--line);border-radius:12px;margin:8px 0}summary{cursor:pointer;padding:10px 14px;font-weight:600}details>div,details>pre{padding:0 14px 14px;margin:0}
pre{overflow-x:auto;font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.episode{border-top:1px solid var(--line);padding:12px 0}.episode:first-child{border-top:0}
.episode .meta{font-size:13px;color:var(--soft);display:flex;flex-wrap:wrap;gap:4px 12px}.episode .meta b{color:var(--ink)}
.turn{border-radius:10px;padding:6px 10px;margin:6px 0;width:fit-content;max-width:100%;overflow-wrap:anywhere;white-space:pre-wrap;line-height:1.9;background:var(--user)}
.turn.reply{margin-left:28px;background:none;border:1px solid var(--line)}
.t{border-radius:4px;padding:2px 0;background:rgba(var(--c),var(--a))}.t.p{--c:var(--up)}.t.m{--c:var(--down)}.mark{margin:0 3px;color:var(--soft);font-size:11px;font-family:ui-monospace,monospace;opacity:.75}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;font-size:13px;color:var(--soft);margin:0 0 10px}.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;vertical-align:-1px;margin-right:5px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(260px,1fr));gap:12px}
footer{margin-top:44px;color:var(--soft);font-size:13px}
@media (max-width:560px){main{padding:18px 12px 48px}h1{font-size:23px}.cards{grid-template-columns:1fr 1fr;gap:8px}.card{padding:10px 12px}.card .value{font-size:19px}.multiples{grid-template-columns:1fr}.turn.reply{margin-left:12px}}
@media print{details{break-inside:avoid}body{background:#fff}}
`
