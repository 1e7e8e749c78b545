#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_speedscope_test.py CLEW: what speedscope's own page (npm speedscope) shows of each format it reads, in Chromium without a window; its JSON schema. TAP."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli.export_make import chain, clew, cycles, export, one, place, program_records, recording, run, two, work
from page import browser

NPM = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False).stdout.strip() if shutil.which("npm") else ""
RELEASE = os.path.join(NPM, "speedscope", "dist", "release")
if not os.path.isdir(RELEASE):
    tap.skip_all("no speedscope (npm speedscope)")

try:
    import jsonschema
except ImportError:
    jsonschema = None
for name, data, options in (("one event", one, ()), ("two events", two, ()), ("--weight samples", one, ("--weight", "samples"))):
    if not jsonschema:
        tap.skip("schema: " + name, "no python3-jsonschema")
        continue
    with open(os.path.join(RELEASE, "file-format-schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    wrong = list(jsonschema.Draft7Validator(schema).iter_errors(json.loads(export(data, "speedscope", *options).stdout)))
    tap.check(not wrong, "schema: " + name, wrong[:3])

if browser.why_not():
    tap.skip("speedscope's page", browser.why_not())
    shutil.rmtree(work, ignore_errors=True)
    tap.done()

page = browser.Browser(1200, 700, ("--allow-file-access-from-files", "--enable-unsafe-swiftshader"))
UNITS = {"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def number(text):
    value, unit = re.match(r"([\d.,]+)([^\d (]*)", text).groups()
    return round(float(value.replace(",", "")) * UNITS[unit.strip()])


def shown(to, data, *options):
    """As its own command hands a profile over. @return ({thread or event: total} where it shows several, {function: [total, self]} of the first, rows)"""
    script = os.path.join(work, "profile.js")
    with open(script, "w", encoding="ascii") as f:
        f.write("speedscope.loadFileFromBase64(%s, '%s')" % (json.dumps("app." + to), base64.b64encode(export(data, to, *options).stdout).decode()))
    page.do("POST", "/url", {"url": "about:blank"})
    page.do("POST", "/url", {"url": "file://" + os.path.join(RELEASE, "index.html") + "#localProfilePath=" + script})
    if not page.wait("return !!document.querySelector('canvas')", 60):
        return {}, {}, page.console()
    for _ in range(10):  # the table of functions; keys are ignored until all is ready
        page.keys("3")
        if page.wait("return [...document.querySelectorAll('tr')].filter((r) => r.querySelectorAll('td').length == 3 && r.innerText.includes('%')).length > 1", 3):
            break
    rows = page.js("return [...document.querySelectorAll('tr')].map((r) => [...r.querySelectorAll('td')].map((d) => d.innerText.trim()))")
    # The list of profiles: number, name, weight. The table: total, own, name.
    profiles = {name: number(weight) for nr, name, weight in (r for r in rows if len(r) == 3 and r[0].isdigit())}
    table = [r for r in rows if len(r) == 3 and not r[0].isdigit()]
    return profiles, {name: [number(total), number(own)] for total, own, name in table}, [name for _, _, name in table]


report = json.loads(run(clew, "report", "-i", one, "--json").stdout)["tables"][0]["events"][0]
SAMPLES, PERIOD = report["samples"], report["period"]
functions = {}  # of all threads: [total, own], of collapsed stacks
of_app = {}
for line in export(one, "collapsed").stdout.decode().splitlines():
    stack, weight = line.rsplit(" ", 1)
    thread, *frames = stack.split(";")
    for sums in (functions, of_app) if thread == "app" else (functions,):
        for f in set(frames):
            sums.setdefault(f, [0, 0])[0] += int(weight)
        sums[frames[-1]][1] += int(weight)

profiles, table, names = shown("speedscope", one)
tap.check(sum(profiles.values()) == PERIOD and list(profiles) == ["app pid 7 tid 7 cpu-clock", "other pid 8 tid 8 cpu-clock"], "speedscope: totals of threads are report's", profiles)
tap.check(names.count("hot") == 1 and table == of_app, "speedscope: a function is one row, with its total and own time", [table, of_app])
profiles, table, names = shown("speedscope", one, "--weight", "samples")
tap.check(sum(profiles.values()) == SAMPLES, "speedscope: counts have no unit", profiles)
profiles, table, names = shown("collapsed", one)
table = {f: v for f, v in table.items() if f not in ("app", "other")}
tap.check(names.count("hot") == 1 and table == functions, "collapsed: functions", [table, functions])
profiles, table, names = shown("callgrind", one)
tap.check(names.count("hot") == 1 and {f: v for f, v in table.items() if f in ("hot", "mix", "main")} == {f: v for f, v in functions.items() if f in ("hot", "mix", "main")},
          "callgrind: functions", [table, functions])
profiles, table, names = shown("pprof", one, "--no-inline")
tap.check(table["hot"][0] == functions["hot"][0] and table["main"][0] == functions["main"][0] and sum(own for _, own in table.values()) == PERIOD, "pprof: functions", table)

steady = recording("steady.data", [cycles], [*program_records(cycles), *program_records(cycles, 8), *sorted((cycles.sample(
    place(("hot", "outer")[i % 2], 1), pid=pid, time=10000 + 1000 * i + (0, -100, 0, -50)[i % 4] + pid, chain=chain(place(("hot", "outer")[i % 2], 1), place("main", 9)))
    for pid in (7, 8) for i in range(400)), key=lambda r: int.from_bytes(r[24:32], "little"))])
totals = shown("speedscope", steady)[0]
profiles, table, names = shown("chrome", steady, "--no-inline")
tap.check(sum(totals.values()) == 800_000 and len(profiles) == 2 and all(0.99 * 400_000 < n <= 400_000 for n in profiles.values()),
          "chrome: slices of a thread are within 1 % of its period, and not above", [profiles, totals])
tap.check(names.count("main") == 1 and set(names) == {"main", "hot", "outer"} and table["main"][0] == list(profiles.values())[0], "chrome: slices nest", table)
page.close()
shutil.rmtree(work, ignore_errors=True)
tap.done()
