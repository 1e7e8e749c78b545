#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: compare_test.py CLEW OUT_DIR: pages of `clew diff --html` and `clew annotate --html`: their numbers are those of --json, and what they show. TAP.
The browser's part is skipped without Chromium."""
import json
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from page import browser, page_data

CLEW, OUT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WORK = tempfile.mkdtemp()
ENV = {**os.environ, "LC_ALL": "C", "HOME": WORK, "XDG_CACHE_HOME": WORK, "PAGER": "cat"}


def clew(*args):
    return subprocess.run([CLEW, *args], capture_output=True, text=True, env=ENV, check=False, stdin=subprocess.DEVNULL)


def is_taken_back(path, size, *args):
    """Without room for the last byte of @p size: it fails, and @p path is not there."""
    run = subprocess.run([CLEW, *args], capture_output=True, text=True, env=ENV, check=False, stdin=subprocess.DEVNULL,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, size - 1)))
    return run.returncode == 1 and "File too large" in run.stderr and not os.path.exists(path)


def recordings():
    """Two of one program: the second has fewer samples, and a function of another name in each build."""
    made = []
    for name, nr, seed, clone in (("before", 4000, 7, ".isra.0"), ("after", 2500, 11, ".constprop.3")):
        os.makedirs(os.path.join(WORK, name), exist_ok=True)
        os.rename(page_data.sampled(os.path.join(WORK, name), nr, seed, clone, True), os.path.join(WORK, name, name + ".data"))
        made.append(os.path.join(WORK, name, name + ".data"))
    return made


def diff_files(a, b):
    path = os.path.join(OUT, "diff.html")
    run = clew("diff", "-q", "--html", path, a, b)
    with open(path, encoding="ascii") as f:
        text = f.read()
    tap.check(run.returncode == 0 and text.count('id="data-0"') == text.count('id="other-0"') == 1 and "f_00" not in text, "a page of two recordings, without a name of theirs in the markup", run)
    again = os.path.join(OUT, "diff-again.html")
    clew("diff", "-q", "--html", again, "--single-threaded", a, b)
    with open(again, encoding="ascii") as f:
        tap.check(f.read() == text, "the same bytes again")
    for name, status, words in (("three recordings", 2, (a, b, a)), ("--json", 2, ("--json", a, b)), ("--normalize by no function", 2, ("--normalize", "ref=nothing", a, b)), ("a missing recording", 1, (a, b + ".none"))):
        no = os.path.join(WORK, "no.html")
        run = clew("diff", "--html", no, *words)
        tap.check(run.returncode == status and run.stderr.startswith("clew: error:") and not os.path.exists(no), "diff --html refuses " + name, run)
    timeless = page_data.half_timeless(WORK)
    said = [clew("diff", "-q", *words, timeless, a) for words in ((), ("--html", no))]
    tap.check(said[0].returncode == said[1].returncode == 2 and said[0].stderr == said[1].stderr and "different events" in said[0].stderr and not os.path.exists(no), "other events are refused as in the text", said)
    run = clew("diff", "-q", "--html", no, "--force", timeless, a)
    tap.check(run.returncode == 0 and os.path.exists(no), "--force compares them", run)
    os.unlink(no)
    tap.check(is_taken_back(no, os.path.getsize(path), "diff", "-q", "--html", no, a, b), "no room for the last byte: nothing is left")
    return path


def rows_of(b):
    return {(r["name"].removesuffix(" [k]"), r["file"]): [round(r["a"], 6), round(r["b"], 6), r["is_real"]] for r in b.js("return clewPage.rows()")}


def rows_of_json(table):
    return {(r["sym"], r["dso"]): [round(r["values"][0]["value"], 6), round(r["values"][1]["value"], 6), r["values"][1]["significant"]] for r in table["rows"]}


def diff_events(b, first, second):
    """Each event, and each way to compare: rows and flame graphs have the values of --json."""
    for options in (("--normalize", "time"), ("--normalize", "none"), ("--normalize", "ref=f_05"), ("-o", "ratio", "--significant"), ("--exact",)):
        path = os.path.join(OUT, "diff-options.html")
        run = clew("diff", "-q", "--html", path, *options, first, second)
        tap.check(run.returncode == 0 and b.open(path) and not b.console(), "a page with " + " ".join(options), (run, b.console()))
        tables = json.loads(clew("diff", "--json", "-s", "dso,sym", *options, first, second).stdout)["tables"]
        names = b.js("return [...document.getElementById('event').options].map((o) => o.textContent)")
        tap.check(names == [t["events"][0]["event"] for t in tables] and len(names) == 2, "both events can be chosen", names)
        for k, table in enumerate(tables):
            b.js("const e = document.getElementById('event'); e.value = %d; e.dispatchEvent(new Event('change'))" % k)
            got, want = rows_of(b), rows_of_json(table)
            tap.check(want and got == want and list(got) == list(want), f"{' '.join(options)}, {names[k]}: rows and their order", [(i, got.get(i), want.get(i)) for i in {**got, **want} if got.get(i) != want.get(i)][:3])
            whole = b.js("const d = clewPage.d(); return [d.cq.all * d.cq.factor, d.cp.all * d.cp.factor]")
            tap.check(all(abs(x - e["value"]) <= 1e-6 * max(1, e["value"]) for x, e in zip(whole, table["events"])), "and flame graphs are as wide", (whole, table["events"]))
        cells = b.js("return [...document.querySelectorAll('.compare tbody tr')].map((r) => r.children[1].textContent)")
        tap.check(cells and all(("%" in c) == (options[1:] not in (("time",), ("none",))) for c in cells), "in their unit", cells[:3])


def diff_times(b, path):
    """Timelines of both: a part of one changes its flame graph; the table says of what it is."""
    b.open(path)
    boxes = [b.box("#time-before"), b.box("#time")]
    tap.check(boxes[0][1] < boxes[1][1] and all(x[2] > 500 and x[3] > 15 for x in boxes), "two timelines, what was before above", boxes)
    drawn = b.js("""return ['time-before', 'time'].map((id) => { const c = document.getElementById(id), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
        for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; })""")
    tap.check(min(drawn) > 5, "samples are drawn in both", drawn)
    whole = b.js("return [clewPage.d().cq.nr, clewPage.d().cp.nr]")
    x, y, width, height = boxes[0]
    b.drag(x + 170, x + 170 + (width - 180) / 2, y + min(height, 30) / 2)
    part = b.js("return [clewPage.d().cq.nr, clewPage.d().cp.nr, document.querySelector('#side').textContent.includes('of the whole recordings'), document.getElementById('whole').disabled]")
    tap.check(0.3 * whole[0] < part[0] < 0.7 * whole[0] and part[1] == whole[1] and part[2] and not part[3], "dragging selects time of one recording", (whole, part))
    b.keys("Home")
    tap.check(b.js("return [clewPage.d().cq.nr, clewPage.d().cp.nr]") == whole, "Home: the whole time of both")
    unseen = b.js("""return [['-before', clewPage.q, clewPage.d().cq], ['', clewPage.p, clewPage.d().cp]].map(([suffix, x, c]) => {
        const rows = (id) => [...document.querySelectorAll('#' + id + suffix + ' tbody tr')].map((r) => [...r.children].map((e) => e.textContent));
        const cv = document.getElementById('time' + suffix), r = cv.getBoundingClientRect();
        cv.dispatchEvent(new PointerEvent('pointermove', {clientX: r.x + 400, clientY: r.y + 5, bubbles: true}));
        return [rows('lanes-table').map((l) => l.slice(0, 2)), x.lanes.filter((l) => l.thread !== undefined && c.nr_thread[l.thread]).map((l) => [thread_name(x, l.thread), samples(c.nr_thread[l.thread])]), rows('gaps-table').map((l) => l[3]), cv.title.startsWith(x.lanes[0].name + ', '),
            cv.getAttribute('aria-describedby')]; })""")
    tap.check(all(u[0] and u[0] == u[1] and "17 records lost" in u[2] and u[3] for u in unseen) and unseen[0][0] != unseen[1][0] and unseen[0][4] == "lanes-table-before gaps-table-before", "each timeline has its tables, and says what is below the pointer", unseen)
    said = b.js("return document.getElementById('notices').textContent")
    tap.check("before.data: 17 samples or records were lost" in said and "after.data: 17 samples" in said, "what each of them lacks is said", said)
    tap.check(b.js("const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.length === new Set(ids).size"), "no id is there twice")
    for theme in ("light", "dark"):
        b.js("if (document.documentElement.dataset.theme !== '%s') document.getElementById('theme').click()" % theme)
        for w in (800, 1400):
            b.size(w, 800)
            b.js("return new Promise((r) => setTimeout(r, 200))")
            b.screenshot(os.path.join(OUT, f"diff-{theme}-{w}.png"))
    b.size(1280, 800)


def diff_calls(b):
    """Of hardware trace: calls of both, with their tables and stacks."""
    data = [os.path.join(WORK, name) for name in ("one.data", "two.data")]
    for path in data:
        if clew("record", "-q", "-e", "soft_pt//u", "-o", path, "--", "/bin/true").returncode:
            tap.skip("a comparison of hardware trace", "nothing can be stepped here")
            return
    path = os.path.join(OUT, "diff-traced.html")
    run = clew("diff", "-q", "--html", path, "--itrace=i1usg", *data)
    tap.check(run.returncode == 0 and b.open(path), "a page of two traces", run)
    look = """const suffix = '%s', [x, s] = suffix ? [clewPage.q, clewPage.sq] : [clewPage.p, clewPage.sp], i = x.n >> 1;
        clewPage.select(s, {shown_from: Math.max(0, x.time[i] - 2000), shown_to: x.time[i] + 2000});
        const cv = document.getElementById('calls' + suffix), r = cv.getBoundingClientRect(), rows = () => document.querySelectorAll('#calls-table' + suffix + ' tbody tr').length, c = x.calls.slices[0], near = rows();
        const at = (Math.max(c.from, s.shown_from) + Math.min(c.to, s.shown_to)) / 2, where = {clientX: r.x + GUTTER + (at - s.shown_from) / (s.shown_to - s.shown_from) * (r.width - GUTTER - 10), clientY: r.y + c.depth * CALL + CALL / 2, bubbles: true};
        cv.dispatchEvent(new PointerEvent('pointermove', where));
        cv.dispatchEvent(new MouseEvent('click', where));
        const said = [cv.title.split(',')[0], x.name[x.node_frame[c.node]], document.getElementById('details').textContent];
        x.spans.call.to = [];
        clewPage.select(s, {shown_from: 0, shown_to: x.end});
        return [near, cv.hidden, rows(), ...said];"""
    for suffix in ("-before", ""):
        got = b.js(look % suffix)
        tap.check(got[0] > 0 and got[3] and got[3] == got[4] and got[4] in got[5], f"calls{suffix}: a table; the stack below the pointer; a click chooses", got)
        tap.check(got[1] and got[2] == 0, f"calls{suffix}: where none are drawn, the table has none", got)
    tap.check(not b.console(), "no message in the console of two traces", b.console())


def diff_numbers(b, path, first, second):
    tap.check(b.open(path) and not b.console() and b.requests() == ["file://" + path], "the page of a comparison is ready, by itself", b.console())
    table = json.loads(clew("diff", "--json", "-s", "dso,sym", first, second).stdout)["tables"][0]
    want = rows_of_json(table)
    got = rows_of(b)
    tap.check(len(want) > 35 and got == want, "shares, and what is significant, are those of --json", [(k, got.get(k), want.get(k)) for k in {**got, **want} if got.get(k) != want.get(k)])
    order = b.js("return clewPage.rows().map((r) => r.delta)")
    tap.check(order == sorted(order, reverse=True) and abs(sum(order)) < 1e-9, "what grew most comes first; all differences add up to 0")
    fills = b.js("return [...document.querySelectorAll('#view .flame')].map((f) => [...f.querySelectorAll('g.frame rect')].map((r) => r.getAttribute('fill')))")
    tap.check(len(fills) == 2 and all(len(f) > 20 for f in fills) and {x.split("-")[2] for f in fills for x in f if "--delta-" in x} and all("delta" in x or "root" in x for f in fills for x in f), "two flame graphs, coloured by how shares changed", [len(f) for f in fills])
    b.js("document.querySelector('#view g.frame[aria-label^=f_0]').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))")
    tap.check("before" in b.js("return document.getElementById('details').textContent"), "the details have both shares")
    b.js("[...document.querySelectorAll('.compare tbody tr')].find((r) => r.textContent.includes('f_07')).click()")
    text = b.js("return document.getElementById('details').textContent")
    tap.check("f_07" in text and "total " in text and "total 0.00" not in text, "and those of a chosen row", text)
    for theme in ("light", "dark"):
        b.js("if (document.documentElement.dataset.theme !== '%s') document.getElementById('theme').click()" % theme)
        worst = b.js("""const css = getComputedStyle(document.documentElement), box = document.createElement('canvas').getContext('2d');
            const light = (v) => { box.fillStyle = css.getPropertyValue('--' + v).trim(); const h = box.fillStyle; return [1, 3, 5].map((i) => parseInt(h.slice(i, i + 2), 16) / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((s, c, i) => s + c * [0.2126, 0.7152, 0.0722][i], 0); };
            const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
            const delta = ['', '-less1', '-less2', '-less3', '-more1', '-more2', '-more3'].map((d) => 'delta' + d);
            return [...delta.map((d) => ['ink', d]), ['fg', 'heat1'], ['fg', 'heat2'], ['accent', 'bg'], ['lost', 'bg'], ['jump', 'bg', 3]].map(([x, y, least]) => [x, y, ratio(x, y), least || 4.5]).filter((r) => r[2] < r[3])""")
        tap.check(not worst, "contrast of the colours of change, " + theme, worst)
        b.screenshot(os.path.join(OUT, f"diff-{theme}.png"))
    tap.check(not b.console(), "no message in the console of the comparison", b.console())


def annotated():
    source, program = os.path.join(WORK, "code.c"), os.path.join(WORK, "code")
    with open(source, "w", encoding="ascii") as f:
        f.write("static inline unsigned mix(unsigned x)\n{\n\treturn x ^ x >> 7; /* </script><script>window.hacked=1</script> */\n}\n"
                "__attribute__((noinline)) unsigned spin(unsigned n)\n{\n\tunsigned s = 1;\n\tfor (unsigned i = 0; i < n; i++)\n\t\ts = mix(s * 31 + i);\n\treturn s;\n}\n\n"
                "int main(void)\n{\n\treturn spin(400000000) == 1;\n}\n")
    subprocess.run(["cc", "-g", "-O2", "-o", program, source], check=True)
    data = os.path.join(WORK, "code.data")
    if clew("record", "-q", "-o", data, "--", program).returncode:
        return None, None
    path = os.path.join(OUT, "annotate.html")
    run = clew("annotate", "-i", data, "--html", path, "spin")
    with open(path, encoding="ascii") as f:
        text = f.read()
    tap.check(run.returncode == 0 and not run.stdout and "hacked" not in text and text.count('id="code-0"') == 1, "a page of a function, without a byte of its source in the markup", run)
    for name, words in (("--json", ("--json",)), ("--stdio", ("--stdio",))):
        no = os.path.join(WORK, "no.html")
        run = clew("annotate", "-i", data, "--html", no, *words)
        tap.check(run.returncode == 2 and not os.path.exists(no), "annotate --html excludes " + name, run)
    no = os.path.join(WORK, "no.html")
    run = clew("annotate", "-i", data, "--html", no, "nothing_of_this_name")
    tap.check(run.returncode == 1 and not os.path.exists(no), "no page of a function that is not there", run)
    tap.check(is_taken_back(no, os.path.getsize(path), "annotate", "-i", data, "--html", no, "spin"), "no room for the last byte of a function's page: nothing is left")
    if os.path.exists("/dev/full"):
        run = clew("annotate", "-i", data, "--html", "/dev/full", "spin")
        tap.check(run.returncode == 1 and "No space left" in run.stderr, "a full disk", run)
    return data, path


def jumps(b, symbol):
    """Lines of jumps: from and to the middle of their rows, one part in each row between them."""
    index = {i["address"]: k for k, i in enumerate(symbol["instructions"])}
    drawn = [(k, index[i["target"]]) for k, i in enumerate(symbol["instructions"]) if "lane" in i]
    got = b.js("""const box = (e) => e.getBoundingClientRect(), out = [];
        for (const row of document.querySelectorAll('tr.insn')) for (const e of row.querySelectorAll('.lane.first, .lane.last, .lane.self'))
            out.push([Number(row.dataset.i), e.classList.contains('first') ? 'first' : 'last', e.classList.contains('to'), Math.abs((e.classList.contains('first') ? box(e).top : box(e).bottom) - (box(row.querySelector('.lanes')).top + box(row.querySelector('.lanes')).bottom) / 2) < 1.6, Math.abs(box(e).right - box(row.querySelector('.lanes')).right) < 1]);
        return out""")
    want = sorted([min(j), "first", j[1] < j[0]] for j in drawn) + sorted([max(j), "last", j[1] > j[0]] for j in drawn)
    tap.check(drawn and sorted(g[:3] for g in got) == sorted(want) and all(g[3] and g[4] for g in got), "each jump has a line with an arrow, aligned with its rows", (got, want))
    gaps = b.js("""let gaps = 0; const rows = [...document.querySelectorAll('table.annotated tbody tr')];
        rows.forEach((row, k) => { for (const e of row.querySelectorAll('.lane.first, .lane.pass')) {
            const x = e.getBoundingClientRect(), next = rows[k + 1] && [...rows[k + 1].querySelectorAll('.lane')].find((o) => Math.abs(o.getBoundingClientRect().left - x.left) < 1);
            if (!next || Math.abs(next.getBoundingClientRect().top - x.bottom) > 1) gaps++; } }); return gaps""")
    tap.check(gaps == 0, "lines have no gaps, through lines of source, too", gaps)
    lit = b.js("""const row = document.querySelector('tr.insn[data-i="%d"]'); row.focus(); const by_key = document.querySelectorAll('.lane.lit').length;
        document.querySelector('tr.insn').dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); return [by_key, document.querySelectorAll('.lane.lit').length, row.getAttribute('aria-label')]""" % drawn[0][0])
    tap.check(lit[0] >= 2 and lit[1] == 0 and ", jumps to 0x" in lit[2], "the line of the row in focus stands out; its label says where it leads", lit)


def annotate_page(b, data, path):
    tap.check(b.open(path) and not b.console() and b.requests() == ["file://" + path], "the page of a function is ready, by itself", b.console())
    want = json.loads(clew("annotate", "-i", data, "--json", "spin").stdout)
    tap.check(b.js("return clewPage.data.symbols") == want["symbols"], "its data are those of --json")
    shares = b.js("return [...document.querySelectorAll('tr.insn')].map((r) => parseFloat(r.firstChild.textContent) || 0)")
    lines = b.js("return [...document.querySelectorAll('tr.line')].map((r) => parseFloat(r.firstChild.textContent) || 0)")
    tap.check(len(shares) == len(want["symbols"][0]["instructions"]) and abs(sum(shares) - 100) < 0.3 and abs(sum(lines) - 100) < 0.3, "shares of instructions add up to 100 %, those of lines too", (sum(shares), sum(lines)))
    text = b.js("return document.getElementById('view').textContent")
    tap.check("s = mix(s * 31 + i);" in text and "inlined mix at code.c:9" in text and "<script>window" in text and b.js("return window.hacked ?? null") is None, "source lines, inlined calls; markup in a comment is text", text[:300])
    target = b.js("const j = document.querySelector('button.jump'); j.click(); return [j.textContent, document.querySelector('tr.chosen').dataset.at]")
    tap.check(target[0] == "\u2192 " + target[1], "a jump is followed", target)
    b.keys("b")
    tap.check(b.js("return document.querySelector('tr.chosen').dataset.at") != target[1], "b goes back")
    jumps(b, want["symbols"][0])
    b.keys("n")
    hot = b.js("return parseFloat(document.querySelector('tr.chosen').firstChild.textContent)")
    tap.check(hot == max(shares) or hot > 5, "n goes to a hot instruction", hot)
    for theme in ("light", "dark"):
        b.js("if (document.documentElement.dataset.theme !== '%s') document.getElementById('theme').click()" % theme)
        for width in (800, 1400):
            b.size(width, 800)
            b.screenshot(os.path.join(OUT, f"annotate-{theme}-{width}.png"))
    # What this machine cannot record: branch stacks with cycles; a function of 60,000 instructions.
    heads = b.js("""const s = structuredClone(clewPage.data.symbols[0]); clewPage.data.symbols.push(s);
        Object.assign(s, {flow: 'branch_stacks', has_cycles: true}); Object.assign(s.instructions[2], {executed: 30, cycles: 1.25, block_cycles: 5, block_ipc: 0.8, timed: 4, blocks_timed: 4});
        clewPage.show(clewPage.data.symbols.length - 1);
        return [[...document.querySelectorAll('.annotated th')].map((t) => t.textContent), [...document.querySelectorAll('tr.insn')].slice(1, 3).map((r) => [...r.querySelectorAll('.flow')].map((t) => t.textContent))]""")
    tap.check(heads[0][2:6] == ["Executed", "Cycles", "Block", "IPC"] and heads[1] == [["", "", "", ""], ["30", "1.25", "5.00", "0.80"]], "columns of cycles", heads)
    huge = b.js("""const s = structuredClone(clewPage.data.symbols[0]), at = (k) => '0x' + k.toString(16); clewPage.data.symbols.push(s);
        s.instructions = Array.from({length: 60000}, (_, k) => ({address: at(k), bytes: 4, text: 'jmp', samples: [k === 40000 ? 1 : 0], period: [k === 40000 ? 1 : 0], ...(k % 6 ? {} : {target: at(k ? k - 6 : 59999), lane: 0})}));
        const shown = () => { const r = [...document.querySelectorAll('tr.insn')]; return [r.length, r[0].dataset.at, r.at(-1).dataset.at, (document.querySelector('tr.chosen') || {dataset: {}}).dataset.at]; };
        clewPage.show(clewPage.data.symbols.length - 1);
        const first = shown(), lanes = document.querySelectorAll('.lane').length;
        clewPage.go('0x0'); const top = shown(); document.querySelector('button.jump').click(); const end = shown(); [...document.querySelectorAll('#view p.more button')].at(0).click();
        return [first, top, end, shown(), lanes]""")
    tap.check(huge[0] == [2000, hex(39000), hex(40999), hex(40000)] and huge[1] == [2000, "0x0", hex(1999), "0x0"] and huge[2] == [2000, hex(58000), hex(59999), hex(59999)] and
              huge[3] == [2000, hex(57000), hex(58999), hex(58000)] and 2000 < huge[4] < 5000, "of a huge function 2,000 instructions at a time, around where one goes", huge)
    tap.check(not b.console(), "no message in the console of the function", b.console())


def main():
    os.makedirs(OUT, exist_ok=True)
    first, second = recordings()
    compared = diff_files(first, second)
    data, path = annotated()
    if not data:
        tap.skip("annotate --html", "nothing can be recorded here")
    if browser.why_not():
        tap.skip("the pages in a browser", browser.why_not())
        tap.done()
    b = browser.Browser()
    try:
        diff_numbers(b, compared, first, second)
        diff_times(b, compared)
        diff_calls(b)
        diff_events(b, first, second)
        if data:
            annotate_page(b, data, path)
    finally:
        b.close()
    tap.done()


main()
