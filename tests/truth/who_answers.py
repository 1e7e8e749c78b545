# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clew answers, record by record: lines of `clew script --json` of a recording with SPE trace."""
import collections
import json
import subprocess

# machine: "host" or the pid of the guest's host process. name: None where clew does not vouch for it. Absent ids are None.
Answer = collections.namedtuple("Answer", "kind evidence reason root local machine vcpu guest_root level pid name thread")


class Failed(Exception):
    """clew ended with an error; its words."""


def answer_of(event):
    who = event["who"]
    machine = who.get("machine", "host")
    is_doubtful = who.get("stale") or who.get("assumed") or who.get("name") in ("stale", "assumed")
    return Answer(who["kind"], who.get("evidence"), who.get("reason"), who.get("root"), who.get("local"),
                  machine if machine == "host" else int(machine.rsplit(" ", 1)[-1]), who.get("vcpu"), who.get("guest_root"), who.get("level"),
                  event.get("pid"), None if is_doubtful else event.get("comm"), who.get("thread"))


def answers(clew, data, *options):
    """((buffer, offset), Answer) of each record, in clew's order; options go to clew. Failed: at the end, if clew failed."""
    command = [clew, "script", "--json", "--itrace=i1i", "-i", data, *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stdout:
            event = json.loads(line)
            if "aux_offset" in event:
                yield (event.get("aux_cpu", -1), event["aux_offset"]), answer_of(event)
        messages = process.stderr.read()
    if process.returncode:
        raise Failed(f"exit status {process.returncode}: {messages.strip()[-300:]}")
