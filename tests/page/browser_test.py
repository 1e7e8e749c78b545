#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: browser_test.py CLEW OUT_DIR: pages of `clew report --html` in Chromium without a window: what they show, filter, and refuse. TAP.
Pages and screenshots of both themes remain in OUT_DIR."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from page import browser, page_data

CLEW, OUT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WORK = tempfile.mkdtemp()
ENV = {**os.environ, "LC_ALL": "C", "HOME": WORK, "XDG_CACHE_HOME": WORK, "PAGER": "cat"}
STATUS = "return document.getElementById('status').textContent"


def clew(*args):
    return subprocess.run([CLEW, "report", *args], capture_output=True, text=True, env=ENV, check=False, stdin=subprocess.DEVNULL)


def page(recording, name):
    path = os.path.join(OUT, name + ".html")
    clew("-i", recording, "--html", path, "-q")
    return path


def rows(recording, *options):
    out = json.loads(clew("-i", recording, "--json", "--sort", "dso,sym", "--percent-limit", "0", "-g", "none", "--children", *options).stdout)
    table = out["tables"][0]
    found = {(r["sym"] or r["address"], r["dso"]): [r["values"][0]["self"], r["values"][0]["total"]] for r in table["rows"]}
    return found, table["events"][0]["kept_samples"]


def shown(b):
    return {(n, d): [s, t] for n, d, s, t in b.js("return clewPage.rows()")}


def compare(b, recording, name, *options):
    want, nr = rows(recording, *options)
    got, mine = shown(b), b.js("return clewPage.count().nr")
    tap.check(mine == nr and got == want, name, [mine, nr, [(k, got.get(k), want.get(k)) for k in {**got, **want} if got.get(k) != want.get(k)]])


def walk(b, recording):
    path = page(recording, "walk")
    tap.check(b.open(path), "the page is ready")
    tap.check(b.requests() == ["file://" + path], "one request: itself")
    tap.check(b.js(STATUS).startswith("4,000 samples, "), "status", b.js(STATUS))
    compare(b, recording, "functions, self and total are those of --json")

    # Time: by the mouse, then exactly.
    x, y, width, _ = b.box("#time")
    left, right = x + 168, x + width - 10
    b.drag(left + 1, left + (right - left) / 2, y + 40)
    tap.check(b.js("return clewPage.s.from < 1e8 && clewPage.count().nr") in range(1700, 2002), "dragging over the timeline selects", b.js("return clewPage.count().nr"))
    tap.check(" of 4,000, " in b.js(STATUS), "and the status says of how many", b.js(STATUS))
    limits = b.js("clewPage.select(clewPage.p.time[700], clewPage.p.time[2600]); return [clewPage.s.from, clewPage.s.to]")
    start = int(b.js("return clewPage.p.start"))
    compare(b, recording, "a range of time: as --time", "--time", ",".join("%d.%09d" % divmod(start + int(t), 10**9) for t in limits))
    hash_before = b.js("return location.hash")
    b.open(path, hash_before)
    tap.check(hash_before.startswith("#t=") and b.js(STATUS).startswith("1,901 samples of 4,000"), "a reload comes back to it", (hash_before, b.js(STATUS)))
    b.keys("Home")
    tap.check(b.js(STATUS).startswith("4,000 samples,"), "Home: the whole time", b.js(STATUS))

    # Filters, alone and together.
    b.js("const t = new Uint8Array(clewPage.p.th.length); t[clewPage.p.th.findIndex((x) => x.tid === 200)] = 1; clewPage.set({threads: t})")
    compare(b, recording, "a thread: as --tid", "--tid", "200")
    b.js("clewPage.set({threads: null, cgroup: clewPage.p.cgroups.indexOf('/slice-2')})")
    inner = b.js("clewPage.set({threads: null, cgroup: clewPage.p.cgroups.findIndex((c) => c.startsWith('/slice-2'))}); return clewPage.count().nr")
    tap.check(0 < inner < 4000, "a control group", inner)
    levels = b.js("return [1, 2].map((k) => { clewPage.set({cgroup: -1, level: k}); return clewPage.count().nr; })")
    tap.check(sum(levels) == 4000 and min(levels) > 500, "levels add up", levels)
    parts = b.js("""const f = clewPage.p.name.findIndex((n) => n === 'f_07');
        clewPage.set({level: -1, focus: f}); const a = clewPage.count(); clewPage.set({focus: -1, without: f}); const b = clewPage.count();
        clewPage.set({without: -1}); return [a.nr + b.nr, a.nr, a.all, clewPage.count().ftotal[f]]""")
    tap.check(parts[0] == 4000 and 0 < parts[1] < 4000 and parts[2] == parts[3], "stacks through a function, and those without it", parts)
    b.js("clewPage.set({focus: 5, level: 1})")
    chips = b.js("return [...document.querySelectorAll('.chip')].map((c) => c.textContent)")
    b.js("document.querySelectorAll('.chip button').forEach((x) => x.click()); document.querySelector('.chip button')?.click()")
    tap.check(len(chips) == 2 and b.js(STATUS).startswith("4,000 samples,"), "chips name filters and remove them", chips)

    # Search: counted on the data.
    b.keys("/")
    b.keys(*"f_0")
    found = b.js("return document.getElementById('found').textContent")
    marked = b.js("return document.querySelectorAll('#view rect[fill*=found]').length")
    tap.check(found.startswith("10 functions, 100.00") and marked > 5, "search marks and counts", (found, marked))
    b.keys("Escape")
    b.js("const e = document.getElementById('search'); e.value = '/f_(/'; e.dispatchEvent(new Event('input'))")
    tap.check(b.js("return document.getElementById('found').className") == "wrong" and b.js(STATUS).startswith("4,000"), "a wrong expression is said, and changes nothing")
    b.js("const e = document.getElementById('search'); e.value = ''; e.dispatchEvent(new Event('input')); document.activeElement.blur()")

    # Keys and views.
    names = []
    for key in "234561":
        b.keys(key)
        names.append(b.js("return document.getElementById('view').getAttribute('aria-label') + (document.querySelector('#view table, #view svg') ? '' : ' is empty')"))
    tap.check(names == ["Call tree", "Callers and callees", "Functions", "Threads", "Events", "Flame graph"], "views by number", names)
    b.js("document.querySelector('#view g[tabindex=\"0\"]').focus()")
    b.keys("Up", "Up")
    down = b.js("return document.activeElement.getAttribute('aria-label')")
    b.keys("Enter")
    zoomed = b.js("return [clewPage.s.zoom, document.querySelectorAll('g.above').length]")
    tap.check(down.startswith("f_") and "% total, user" in down.replace("\u2009", " ") and zoomed[0] > 0 and zoomed[1] >= 1, "arrows walk the flame graph, Enter zooms", (down, zoomed))
    b.keys("Escape")
    tap.check(b.js("return clewPage.s.zoom") == 0, "Escape zooms out")
    heights = b.js("return [...document.querySelectorAll('#view g.frame')].slice(0, 2).map((g) => g.getBoundingClientRect().y)")
    b.keys("i")
    b.wait("const [a, b] = document.querySelectorAll('#view g.frame'); return a.getBoundingClientRect().y < b.getBoundingClientRect().y", 5)
    turned = b.js("return [...document.querySelectorAll('#view g.frame')].slice(0, 2).map((g) => g.getBoundingClientRect().y)")
    tap.check(heights[0] > heights[1] and turned[0] < turned[1], "i turns it over", (heights, turned))
    b.keys("i", "3")
    b.js("clewPage.s.frame = clewPage.p.name.indexOf('f_02'); clewPage.show(3)")
    parts = b.js("""return [...document.querySelectorAll('#view .flame')].map((f) => [...f.querySelectorAll('g.frame')].map((g) => [g.__data__.data.name, g.__data__.data.value]))""")
    total = b.js("return clewPage.count().ftotal[clewPage.s.frame]")
    tap.check(parts[0][0] == ["f_02", total] == parts[1][0] and parts[0][1] == ["f_00", total] and len(parts[1]) > 30, "callers and callees of a function", [parts[0][:3], parts[1][:3], total])
    b.keys("4")
    b.js("document.querySelector('#view th:nth-child(3) button').click()")
    order = b.js("return [document.querySelector('#view th[aria-sort=\"ascending\"]').textContent, document.querySelector('#view tbody tr td.name').textContent]")
    tap.check(order[0].startswith("Function") and order[1].startswith("f_00"), "a column's head sorts", order)
    b.keys("1")
    access(b)
    tap.check(not b.console(), "no message in the console", b.console())


def held(b, modifier, *keys):
    """Keys while another one is held."""
    acts = [{"type": "keyDown", "value": modifier}, *({"type": t, "value": browser.KEYS.get(k, k)} for k in keys for t in ("keyDown", "keyUp")), {"type": "keyUp", "value": modifier}]
    b.do("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": acts}]})


SHIFT, CONTROL = "\ue008", "\ue009"


def keys(b, recording):
    """The keys of the list that '?' shows, beyond those of walk()."""
    b.open(page(recording, "walk"))
    b.keys("?")
    tap.check(b.js("return !document.getElementById('help').hidden && document.querySelectorAll('#help dt').length") >= 12, "? lists the keys")
    b.keys("Escape")
    tap.check(b.js("return document.getElementById('help').hidden"), "Escape closes the list")
    b.keys("/", *"f_0")
    order, said = [], []
    for key in ("Enter", "Enter", None, "Enter"):
        if key:
            b.keys(key)
        else:
            held(b, SHIFT, "Enter")
        order.append(b.js("return clewPage.p.name[clewPage.s.frame]"))
        said.append(b.js("return document.getElementById('found').textContent"))
    tap.check(order[0] == order[2] == "f_00" and order[1] == order[3] and order[1].startswith("f_0") and order[1] != order[0], "in the search Enter goes to the next match, Shift+Enter back", order)
    tap.check(said[0].startswith("1 of 10 functions") and said[1].startswith("2 of 10 functions"), "and says which", said)
    tap.check(b.js("return [...document.querySelectorAll('#view g.chosen')].every((g) => g.__data__.data.frame === clewPage.s.frame) && document.querySelectorAll('#view g.chosen, #side tr.chosen').length") > 1, "all places of it are marked")
    b.keys("Escape")
    b.js("document.activeElement.blur()")
    b.keys("s")
    tap.check(b.js("return clewPage.s.view") == 3, "s: callers and callees")
    b.keys("1")
    theme = b.js("return document.documentElement.dataset.theme")
    b.keys("t")
    tap.check(b.js("return document.documentElement.dataset.theme") != theme, "t: the other theme")
    b.js("document.querySelector('#view g[tabindex=\"0\"]').focus()")
    b.keys("Up", "Up", "Right")
    first = b.js("return document.activeElement.getAttribute('aria-label')")
    b.keys("Left")
    second = b.js("return document.activeElement.getAttribute('aria-label')")
    b.keys("Down")
    third = b.js("return document.activeElement.getAttribute('aria-label')")
    tap.check(first != second and third.startswith("f_00"), "right, left, down: siblings and the caller", (first, second, third))
    b.keys("Up")
    held(b, SHIFT, "Enter")
    tap.check(b.js("return clewPage.s.focus > 0 && document.querySelectorAll('.chip').length") == 1, "Shift+Enter: only stacks through it")
    copied = b.js("""let text = null; document.addEventListener('copy', (e) => { setTimeout(() => { window.copied = text; }); }, {once: true});
        const data = new DataTransfer(), e = new ClipboardEvent('copy', {clipboardData: data, bubbles: true}); document.body.dispatchEvent(e); return data.getData('text/plain')""")
    tap.check(copied == b.js("return clewPage.p.name[clewPage.s.frame]"), "copying takes the chosen name", copied)
    b.js("clewPage.clear(); document.getElementById('time').focus()")
    ranges = []
    for modifier, key in ((None, "Right"), (None, "Right"), (None, "Left"), (SHIFT, "Right"), (SHIFT, "Left"), (None, "+"), (None, "-"), (None, "Home")):
        if modifier:
            held(b, modifier, key)
        else:
            b.keys(key)
        ranges.append(b.js("const s = clewPage.s; return [s.from, s.to, s.shown_to - s.shown_from].map((x) => Math.round(1000 * x / clewPage.p.end))"))
    tap.check([r[:2] for r in ranges] == [[250, 750], [300, 800], [250, 750], [250, 800], [250, 745], [250, 745], [250, 745], [0, 1000]], "arrows move and resize the selection, Home ends it", ranges)
    tap.check(ranges[5][2] == 800 and ranges[6][2] == 1000 and ranges[4][2] == 1000, "plus and minus zoom", ranges)
    table = b.js("return [...document.querySelectorAll('#lanes-table tbody tr')].map((r) => r.textContent)")
    tap.check(len(table) == 3 and all("samples" in t for t in table), "the timeline has a table for those who do not see it", table)
    tap.check(not b.console(), "no message in the console after the keys", b.console())


def access(b):
    tree = b.cdp("Accessibility.getFullAXTree")["nodes"]
    nameless = [n["role"]["value"] for n in tree if not n.get("ignored") and any(p["name"] == "focusable" and p["value"]["value"] for p in n.get("properties", []))
                and not n.get("name", {}).get("value") and n["role"]["value"] not in ("RootWebArea",)]
    tap.check(len(tree) > 100 and not nameless, "whatever can have the focus has a name", nameless)
    for theme in ("light", "dark"):
        b.js("document.documentElement.dataset.theme = '%s'" % theme)
        worst = b.js("""
            const css = getComputedStyle(document.documentElement), box = document.createElement('canvas').getContext('2d');
            const rgb = (v) => { box.fillStyle = css.getPropertyValue('--' + v).trim(); const h = box.fillStyle; return [1, 3, 5].map((i) => parseInt(h.slice(i, i + 2), 16) / 255); };
            const light = (v) => rgb(v).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((s, c, i) => s + c * [0.2126, 0.7152, 0.0722][i], 0);
            const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
            const areas = ['user', 'kernel', 'gu', 'gk', 'hyp', 'unknown'].flatMap((k) => [k, k + 1, k + 2]);
            const text = [['fg', 'bg'], ['dim', 'bg'], ['fg', 'panel'], ['dim', 'panel'], ['fg', 'chosen'], ['fg', 'hit'], ['warn-fg', 'warn'], ['lost', 'bg'], ['ink', 'found'], ['ink', 'root'], ...areas.map((k) => ['ink', k])];
            return [...text.map(([x, y]) => [x + ' on ' + y, ratio(x, y), 4.5]), ...areas.map((k) => [k, ratio(k, 'bg'), 3])].filter(([, r, least]) => r < least);""")
        tap.check(not worst, "contrast, " + theme, worst)


def hostile(b):
    path = page(page_data.hostile(WORK), "hostile")
    tap.check(b.open(path), "a page of hostile names is ready")
    for view in (2, 3, 4, 5, 6, 1):
        b.js("clewPage.show(%d)" % view)
    b.js("clewPage.set({cgroup: 3, focus: 2}); document.getElementById('threads-button').click()")
    title = b.js("return document.title")
    tap.check(b.js("return window.hacked ?? null") is None and not b.console() and title == "clew: <b>hostile.data", "nothing of it runs", (title, b.console()))
    tap.check(b.js("return document.querySelectorAll('img, svg svg, script:not([id])').length") == 2, "and nothing of it is markup")
    text = b.js("clewPage.clear(); clewPage.show(4); return document.body.textContent")
    tap.check("\\u202etxt.exe" in text and "\u202e" not in text and "\x1b" not in text, "what turns text or steers is shown by number")
    b.screenshot(os.path.join(OUT, "hostile.png"))
    with open(path, encoding="ascii") as f:
        whole = f.read()
    put = os.path.join(OUT, "put.html")
    with open(put, "w", encoding="ascii") as f:
        f.write(whole.replace("<main", "<img src=x onerror=window.hacked=8><script>window.hacked=9</script><main", 1))
    b.open(put)
    log = b.console()
    tap.check(b.js("return window.hacked ?? null") is None and any("Content Security Policy" in m for m in log), "what is put into the file by hand does not run", log)


def intervals(b):
    b.open(page(page_data.switched(WORK), "switched"), "#view=5")
    row = b.js("return [...document.querySelectorAll('#view tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    tap.check(len(row) == 1 and [x.replace("\u2009", " ") for x in row[0][2:6]] == ["5", "3", "6.0 \u00b5s", "1.0 \u00b5s"], "threads: samples, switches, how long they ran and waited", row)
    said = b.js("const v = clewPage.p.spans.running; return interval_text(v, interval_at(v, 0, 1500), [...INTERVALS, SLEEPS])").replace("\u2009", " ")
    tap.check(said == ", waiting for a CPU for 1.0 \u00b5s", "the timeline says what a thread did", said)
    legend = b.js("return document.getElementById('legend').textContent")
    tap.check("running" in legend and "waiting for a CPU" in legend and not b.console(), "and what its strips mean", legend)
    x, y, width, _ = b.box("#time")
    lane = b.js("return clewPage.p.lanes.findIndex((l) => l.thread === 0)")
    at = x + 168 + (width - 178) * 3000 / 12000
    acts = [{"type": "pointerMove", "duration": 0, "x": int(at), "y": int(y + 18 * lane + 9)}] + [{"type": t, "button": 0} for t in ("pointerDown", "pointerUp", "pointerDown", "pointerUp")]
    b.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "parameters": {"pointerType": "mouse"}, "actions": acts}]})
    tap.check(b.js("return [clewPage.s.from, clewPage.s.to]") == [2000, 4000], "a double click selects the interval", b.js("return [clewPage.s.from, clewPage.s.to]"))


def pauses(b):
    b.open(page(page_data.paused(WORK), "paused"))
    said = b.js("const p = clewPage.p; return ['CPU 0', 'CPU 1', 'one'].map((n) => pause_text(p, p.lanes.findIndex((l) => l.name === n), 4000, 0).replace(/\u2009/g, ' '))")
    tap.check(said == ["", ", nothing recorded for 4.0 \u00b5s: throttled", ""], "the lane of a CPU says when nothing was recorded", said)
    inked = b.js("""const p = clewPage.p, cv = document.getElementById('time'), copy = document.createElement('canvas'), g = copy.getContext('2d', {willReadFrequently: true});
        [copy.width, copy.height] = [cv.width, cv.height];
        g.drawImage(cv, 0, 0);
        const k = devicePixelRatio || 1, w = cv.clientWidth - 178;
        return ['CPU 0', 'CPU 1'].map((n) => { const y = p.lanes.findIndex((l) => l.name === n) * 18 + 2, at = (t) => 168 + t / p.end * w;
            const d = g.getImageData(at(2200) * k, y * k, (at(5800) - at(2200)) * k, 12 * k).data, colors = new Set();
            for (let i = 0; i < d.length; i += 4) colors.add([d[i], d[i + 1], d[i + 2]].join());
            return colors.size; });""")
    tap.check(inked[0] == 1 and inked[1] > 1, "and is hatched there", inked)
    legend = b.js("return document.getElementById('legend').textContent")
    tap.check("not recorded" in legend and not b.console(), "as the legend says", legend)
    b.screenshot(os.path.join(OUT, "paused.png"))


def losses(b):
    """Times of lost records: hatched on their CPU's lane, in the legend, and in a table for those who do not see it."""
    b.open(page(page_data.lossy(WORK), "lossy"))
    said = b.js("const p = clewPage.p, text = (n, t) => pause_text(p, p.lanes.findIndex((l) => l.name === n), t, 0).replace(/\u2009/g, ' '); return [text('CPU 0', 1500), text('CPU 0', 3000), text('CPU 1', 3000), text('one', 1500)]")
    tap.check(said == [", 17 records lost within 1.0 \u00b5s", "", ", 3 records lost within 4.0 \u00b5s", ""], "the lane of a CPU says what was lost", said)
    table = b.js("return [...document.querySelectorAll('#gaps-table tbody tr')].map((r) => [...r.children].map((c) => c.textContent.replace(/\u2009/g, ' ')).join('; '))")
    tap.check(table == ["0 ns; 4.0 \u00b5s; CPU 1; 3 records lost", "1.0 \u00b5s; 1.0 \u00b5s; CPU 0; 17 records lost", "8.5 \u00b5s; 1.0 \u00b5s; CPU 0; 5 records lost"], "so does a table", table)
    few = b.js("clewPage.select(5000, 9500); const n = document.querySelectorAll('#gaps-table tbody tr').length; clewPage.clear(); return n")
    legend = b.js("return document.getElementById('legend').textContent")
    tap.check(few == 1 and legend.endswith("lost") and "not recorded" not in legend and not b.console(), "of the selected time; and the legend", (few, legend, b.console()))
    b.screenshot(os.path.join(OUT, "lossy.png"))


def traced(b):
    """Calls one after the other, and time as the weight: of a stepped program."""
    data = os.path.join(WORK, "traced.data")
    if subprocess.run([CLEW, "record", "-q", "-e", "soft_pt//u", "-o", data, "--", "/bin/true"], env=ENV, capture_output=True, check=False).returncode:
        tap.skip("calls of a traced program", "nothing can be stepped here")
        return
    path = os.path.join(OUT, "traced.html")
    clew("-i", data, "--itrace=i1usg", "--html", path, "-q")
    b.open(path)
    lane = b.js("""const p = clewPage.p, s = clewPage.s; let i = 1; while (i < p.n - 3 && p.time[i + 1] - p.time[i] > 3e5) i++;
        s.shown_from = p.time[i] - 1000; s.shown_to = p.time[i + 1] + 1000; clewPage.set({});
        return [document.getElementById('calls').hidden, p.calls && p.calls.slices.length, p.calls && p.calls.slices.every((c) => c.to >= c.from && c.depth >= 0)]""")
    tap.check(lane[0] is False and lane[1] > 2 and lane[2], "below a millisecond: calls as slices", lane)
    apart = b.js('''const at = {}; let wrong = 0;
        for (const c of clewPage.p.calls.slices) { const last = at[c.depth]; if (last && last.to > c.from && last.from < c.to) wrong++; at[c.depth] = c; }
        const p = clewPage.p, inside = (c) => c.depth === 0 || p.calls.slices.some((d) => d.depth === c.depth - 1 && d.node === p.node_parent[c.node] && d.from <= c.from && d.to >= c.to);
        return [wrong, p.calls.slices.every(inside)]''')
    tap.check(apart == [0, True], "slices of one depth are apart, and each is within its caller's", apart)
    place = b.js('''const p = clewPage.p, s = clewPage.s, c = p.calls.slices.reduce((a, b) => b.depth > a.depth ? b : a), r = document.getElementById('calls').getBoundingClientRect();
        const x = 168 + ((Math.max(c.from, s.shown_from) + Math.min(c.to, s.shown_to)) / 2 - s.shown_from) / (s.shown_to - s.shown_from) * (r.width - 178);
        return [r.x + x, r.y + c.depth * 17 + 10, p.name[p.node_frame[c.node]], c.depth, document.querySelectorAll('#calls-table tbody tr').length]''')
    b.click(place[0], place[1])
    title = b.js("return [document.getElementById('calls').title, clewPage.p.name[clewPage.s.frame]]")
    tap.check(title[0].startswith(place[2] + ", ") and title[0].count("\ncalled by ") == place[3] and title[1] == place[2], "a call says its stack, and a click chooses its function", (place, title))
    tap.check(2 < place[4] <= 100, "calls have a table", place)
    ran = b.js('''const p = clewPage.p, s = clewPage.s; s.shown_from = 0; s.shown_to = p.end; clewPage.set({});
        const all = count_levels(p, s).reduce((n, l) => n + l[1], 0), bins = level_bins(p, s, 1000), drawn = bins.bins.reduce((n, x) => n + x, 0);
        return [all / p.end, drawn / all, document.getElementById('lanes-table').textContent, thread_text(p, 0, p.end / 2)]''')
    tap.check(0.9 < ran[0] <= 1 and 0.99 < ran[1] < 1.01 and "Traced: user" in ran[2] and ", user for " in ran[3], "levels of a thread: drawn, in the table, and as text", ran)
    tap.check(b.js("return document.getElementById('weight').options[0].text") == "instructions", "the weight has its name")
    counted = b.js("return clewPage.count().all")
    b.js("const w = document.getElementById('weight'); w.value = '1'; w.dispatchEvent(new Event('change'))")
    timed = b.js("return [clewPage.count().all, clewPage.p.end, document.getElementById('weight-label').hidden, location.hash]")
    tap.check(timed[0] != counted and 0.5 * timed[1] < timed[0] <= 1.001 * timed[1] and not timed[2] and "w=1" in timed[3], "the weight is instructions, or time", (counted, timed))
    b.screenshot(os.path.join(OUT, "traced.png"))
    tap.check(not b.console(), "no message in the console of the traced page", b.console())


def sources(b):
    """A program with debug information: its functions' lines."""
    source, program = os.path.join(WORK, "lines.c"), os.path.join(WORK, "lines")
    with open(source, "w", encoding="ascii") as f:
        f.write("int burn(int n)\n{\n\tint s = 0;\n\tfor (int i = 0; i < n; i++)\n\t\ts += i * s + 1;\n\treturn s;\n}\n\nint main(void)\n{\n\treturn burn(200000000) == 1;\n}\n")
    subprocess.run(["cc", "-g", "-O0", "-o", program, source], check=True)
    data = os.path.join(WORK, "lines.data")
    if subprocess.run([CLEW, "record", "-q", "-g", "-o", data, "--", program], env=ENV, capture_output=True, check=False).returncode:
        tap.skip("lines of functions", "nothing can be recorded here")
        return
    b.open(page(data, "lines"), "#view=4")
    row = b.js("return [...document.querySelectorAll('#view tbody tr')].find((r) => r.children[2].textContent === 'burn')?.textContent || ''")
    tap.check("lines.c:1" in row, "a table of functions has their lines", row)
    b.js("[...document.querySelectorAll('#view tbody tr')].find((r) => r.children[2].textContent === 'main').click()")
    tap.check(b.js("return document.querySelector('#details .source').textContent") == "lines.c:9", "and the details", b.js("return document.getElementById('details').textContent"))


def states(b, recording):
    b.open(page(page_data.empty(WORK), "empty"))
    text = b.js("return document.getElementById('view').textContent")
    tap.check("has no samples" in text and not b.console(), "no samples: said", text)
    b.screenshot(os.path.join(OUT, "empty.png"))
    path = page(recording, "walk")
    b.open(path, "#t=1,2")
    tap.check("keep none of the 4,000 samples" in b.js("return document.getElementById('view').textContent"), "filters that keep nothing: said")
    b.js("document.querySelector('#view button').click()")
    tap.check(b.js(STATUS).startswith("4,000 samples,"), "with the way back")
    with open(path, encoding="ascii") as f:
        whole = f.read()
    at = whole.index('id="data-0">') + 12
    broken = os.path.join(OUT, "broken.html")
    with open(broken, "w", encoding="ascii") as f:
        f.write(whole[:at] + whole[at:at + 2000] + whole[whole.index("</script>", at):])
    b.open(broken)
    tap.check("cannot be read" in b.js("return document.getElementById('view').textContent"), "data that cannot be read: said", b.js("return document.body.textContent"))
    with open(recording, "rb") as f:
        data = f.read()
    cut = os.path.join(WORK, "cut.data")
    with open(cut, "wb") as f:
        f.write(data[: len(data) * 3 // 5])
    b.open(page(cut, "cut"))
    notice = b.js("return document.getElementById('notices').textContent")
    tap.check("ends inside a record at offset 0x" in notice, "a recording that is cut off: said", notice)


def more_states(b):
    def notices():
        return b.js("return document.getElementById('notices').textContent").replace("\u2009", " ")

    basic = pm.IDENTIFIER | pm.IP | pm.TID | pm.PERIOD
    b.open(page(page_data.plain(WORK, "flat.data", basic | pm.TIME), "flat"))
    shown_now = b.js("return [clewPage.s.view, document.querySelector('#tabs [aria-selected=true]').textContent]")
    tap.check(shown_now == [4, "Functions"] and "no call stacks" in notices() and "clew record -g" in notices(), "no stacks: the functions first, and how to record them", (shown_now, notices()))
    b.keys("1")
    tap.check(b.js("return new Set([...document.querySelectorAll('#view g.frame')].map((g) => g.getBoundingClientRect().y)).size") == 2, "the graph is one level high")
    tap.check("100.00 % of the samples are in functions without a name" in notices() and "/nowhere/app: file not found" in notices(), "no symbols: which files, and why", notices())
    names = b.js("clewPage.show(4); return [...document.querySelectorAll('#view tbody tr')].map((r) => r.children[2].textContent + ' ' + r.lastChild.textContent)")
    tap.check(len(names) == 5 and all(n.startswith("0x") and n.endswith(" app") for n in names), "rows are addresses of the file", names)
    lanes = b.js("return clewPage.p.lanes.map((l) => l.name)")
    tap.check(lanes == ["one"], "one thread: one lane", lanes)
    b.screenshot(os.path.join(OUT, "flat.png"))
    b.open(page(page_data.plain(WORK, "timeless.data", basic | pm.CALLCHAIN), "timeless"))
    tap.check("have no times: there is no timeline" in notices() and b.js("return document.getElementById('timeline').hidden") and b.js(STATUS).startswith("60 samples, "), "no times: said, without a timeline", notices())
    big = os.path.join(OUT, "big.html")
    clew("-i", page_data.plain(WORK, "flat.data", basic | pm.TIME), "--html", big, "-q", "--max-samples", "20")
    b.open(big)
    entries = b.js("return clewPage.p.n")
    tap.check(entries <= 20 and "60 samples" in notices() and "time resolution is" in notices() and b.js(STATUS).startswith("60 samples, "), "many samples: the resolution of time", (entries, notices()))
    path = page(page_data.plain(WORK, "flat.data", basic | pm.TIME), "flat")
    with open(path, encoding="ascii") as f:
        tap.check("<noscript><p" in f.read(), "without scripts: a sentence")
    added = b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream"})
    b.open(path)
    text = b.js("return document.getElementById('view').textContent")
    b.cdp("Page.removeScriptToEvaluateOnNewDocument", added)
    tap.check("this browser is too old" in text and "Firefox 113" in text, "an old browser: which ones are new enough", text)
    tap.check(not [m for m in b.console() if "too old" not in m], "no message in the console of these")


def pictures(b, recording):
    b.open(page(recording, "walk"))
    for width, height in ((1280, 800), (1600, 1000)):
        b.size(width, height)
        for theme in ("light", "dark"):
            b.js("if (document.documentElement.dataset.theme !== '%s') document.getElementById('theme').click(); dispatchEvent(new Event('resize'))" % theme)
            b.wait("return document.querySelector('#view svg').clientWidth > %d" % (width / 2), 5)
            b.screenshot(os.path.join(OUT, "walk-%d-%s.png" % (width, theme)))
    fits = b.js("return document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight")
    b.size(800, 600)
    b.wait("return document.documentElement.scrollWidth <= 800", 5)
    small = b.js("return document.documentElement.scrollWidth")
    end = b.js("const f = document.querySelector('#view .flame').getBoundingClientRect(), g = document.querySelector('#view g.frame rect').getBoundingClientRect(); return f.bottom - g.bottom")
    tap.check(-1 <= end < 4, "the outermost frame is in sight", end)
    tap.check(fits and small <= 800, "it fits from 800 pixels on", (fits, small))


def main():
    missing = browser.why_not()
    if missing:
        tap.skip_all(missing)
    os.makedirs(OUT, exist_ok=True)
    recording = page_data.sampled(WORK)
    b = browser.Browser()
    try:
        walk(b, recording)
        keys(b, recording)
        sources(b)
        intervals(b)
        pauses(b)
        losses(b)
        traced(b)
        hostile(b)
        states(b, recording)
        more_states(b)
        pictures(b, recording)
    finally:
        b.close()
    tap.done()


main()
