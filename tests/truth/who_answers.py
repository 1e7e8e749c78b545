# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clew answers, record by record: lines of `clew script --json` of a recording with SPE trace."""
import collections
import json
import re
import subprocess

# machine: "host", the pid of the guest's host process, or "guest" where that is unknown. name: None where clew does not vouch for it.
# Absent ids are None.
Answer = collections.namedtuple("Answer", "kind evidence reason root local machine vcpu guest_root level pid name thread guest_local", defaults=(None,))
ANY_GUEST = "guest"


class Failed(Exception):
    """clew ended with an error; its words."""


def machine_of(name):
    """"host", "guest PID", or "guest": of a process that is unknown."""
    return name if name in ("host", ANY_GUEST) else int(name.rsplit(" ", 1)[-1])


def answer_of(event):
    who, name = event["who"], event.get("comm", ":")
    if who.get("stale_name") or who.get("assumed_name") or name.startswith(":"):
        name = None
    return Answer(who["kind"], who.get("evidence"), who.get("reason"), who.get("root"), who.get("local"), machine_of(who.get("machine", "host")),
                  who.get("vcpu"), who.get("guest_root"), who.get("level"), event.get("pid"), name, who.get("thread"), who.get("guest_local"))


class Parser:
    """Lines of events to ((buffer, offset), Answer), or None: no answer there. What a line says of the owner is parsed once for all that are equal."""

    PLACE = re.compile(r'"aux_offset":(\d+)(?:,"aux_cpu":(\d+))?')
    WHO = re.compile(r'"who":\{[^{}]*\}')
    THREAD = re.compile(r'"pid":-?\d+,"tid":-?\d+,"comm":"[^"\\]*"')

    def __init__(self):
        self.known = {}

    def parse(self, line):
        place, who, thread = self.PLACE.search(line), self.WHO.search(line), self.THREAD.search(line)
        if not place or not who:
            return None
        if not thread:
            answer = answer_of(json.loads(line))
        else:
            key = who[0], thread[0]
            answer = self.known.get(key)
            if answer is None:
                answer = self.known[key] = answer_of(json.loads(line))
        return (int(place[2] or -1), int(place[1])), answer


def answers(clew, data, *options):
    """((buffer, offset), Answer) of each record, in clew's order; options go to clew. Failed: at the end, if clew failed."""
    command = [clew, "script", "--json", "--itrace=i1i", "-i", data, *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        yield from filter(None, map(Parser().parse, process.stdout))
        messages = process.stderr.read()
    if process.returncode:
        raise Failed(f"exit status {process.returncode}: {messages.strip()[-300:]}")
