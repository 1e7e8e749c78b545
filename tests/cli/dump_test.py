#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: dump_test.py CLEW: `clew dump` of small snapshots, made here: text, JSON, counts, filters, and what is wrong. TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import check, done

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
ASYNC = bytes(11) + b'\x80'
# trace info, trace on, an address and a context, atoms, a bad header; then found again, and cut
TRACE = (b'\x95\x01' + ASYNC + bytes.fromhex('0100 04 85220000000000000030 fd 95 05 08 f7') + ASYNC + bytes.fromhex('0100 06 1d 9a 01'))



def dump(*args):
    p = subprocess.run((clew, 'dump') + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def snapshot(name, units, buffers):
    """units: (name, ID, TRCCONFIGR, buffer), buffers: (name, format, bytes)."""
    top = os.path.join(work, name)
    devices = ''.join('d%d = unit%d.ini\nc%d = cpu%d.ini\n' % (i, i, i, i) for i in range(len(units)))
    write(top + '/snapshot.ini', '[snapshot]\nversion=1.0\n[device_list]\n%s[trace]\nmetadata=trace.ini\n' % devices)
    for i, (unit, trace_id, configr, _) in enumerate(units):
        write(top + '/unit%d.ini' % i, '[device]\nname=%s\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=%#x\nTRCTRACEIDR=%#x\n'
              'TRCIDR0=0x280006c1\nTRCIDR1=0x4100f424\nTRCIDR2=0x488\nTRCIDR8=0\n' % (unit, configr, trace_id))
        write(top + '/cpu%d.ini' % i, '[device]\nname=cpu_%d\nclass=core\ntype=Cortex-A57\n[regs]\nPC(size:64)=0\n' % i)
    text = '[trace_buffers]\nbuffers=%s\n' % ','.join('b%d' % i for i in range(len(buffers)))
    for i, (buffer, layout, data) in enumerate(buffers):
        text += '[b%d]\nname=%s\nfile=%s.bin\nformat=%s\n' % (i, buffer, buffer, layout)
        write(top + '/%s.bin' % buffer, data)
    text += '[source_buffers]\n' + ''.join('%s=%s\n' % (u[0], u[3]) for u in units)
    text += '[core_trace_sources]\n' + ''.join('cpu_%d=%s\n' % (i, u[0]) for i, u in enumerate(units))
    write(top + '/trace.ini', text)
    return name


def frames(parts):
    """(ID, bytes) of whole frames: an ID, then 14 bytes of it; the rest of the last one is of ID 0."""
    ret = b''
    for trace_id, data in parts:
        for at in range(0, len(data), 14):
            part = data[at:at + 14]
            frame = bytearray(16)
            frame[0] = trace_id << 1 | 1
            for i, byte in enumerate(part):
                slot = i + 1
                frame[slot] = byte & (0xfe if slot % 2 == 0 else 0xff)
                if slot % 2 == 0 and byte & 1:
                    frame[15] |= 1 << slot // 2
            if len(part) < 13:
                slot = len(part) + 1 + (len(part) + 1) % 2
                frame[slot] = 1
                if slot > len(part) + 1:  # one byte more of this ID: nothing that is asked for
                    frame[slot - 1] = 0x70
            ret += bytes(frame)
    return ret


RAW = snapshot('raw', [('ETM_0', 0x10, 1, 'one')], [('one', 'source_data', TRACE)])
WANT = '''\
# ID 10: ETM_0, cpu 0, ETMv4.2, one.bin
        0         0  10  95 01                               I_NOT_SYNC           2 bytes skipped
        2         2  10  00 00 00 00 00 00 00 00 00 00 00 80 I_ASYNC
       14        14  10  01 00                               I_TRACE_INFO
       16        16  10  04                                  I_TRACE_ON
       17        17  10  85 22 00 00 00 00 00 00 00 30       I_ADDR_CTXT_L_64IS0  0x88 EL0 NS AArch64
       27        27  10  fd                                  I_ATOM_F3            ENE
       28        28  10  95 05                               I_ADDR_S_IS0         0x14
       30        30  10  08                                  I_BAD                reserved, or a field that does not end
       31        31  10  f7                                  I_NOT_SYNC           1 bytes skipped
       32        32  10  00 00 00 00 00 00 00 00 00 00 00 80 I_ASYNC
       44        44  10  01 00                               I_TRACE_INFO
       46        46  10  06 1d                               I_EXCEPT             TYPE=0xe IRQ E=1
       48        48  10  9a 01                               I_INCOMPLETE         the trace ends inside it
'''
status, out, err = dump('-i', RAW)
check(status == 0 and out == WANT, 'text', out + err)

status, out, err = dump('-i', RAW, '--json')
lines = [json.loads(x) for x in out.splitlines()]
check([x['packet'] for x in lines] == [x.split()[-1] if len(x.split()) == 0 else x[60:81].strip() for x in WANT.splitlines()[1:]],
      'JSON names the same', out)
check(lines[4] == {'offset': 17, 'input': 17, 'unit': 0, 'id': 16, 'cpu': 0, 'size': 10, 'bytes': '85220000000000000030',
                   'packet': 'I_ADDR_CTXT_L_64IS0', 'address': '0x88', 'is': 0, 'context': {'el': 0, 'security': 'NS', 'bits': 64}},
      'JSON of a packet', lines[4])
check(sum(x['size'] for x in lines) == len(TRACE), 'every byte is in one packet')

status, out, err = dump('-i', RAW, '--stat')
check(out.startswith('# ID 10: ETM_0') and ['I_ASYNC', '2', '24', '48.0%'] in [x.split() for x in out.splitlines()]
      and out.split()[-3:] == ['all', '13', '50'], 'counts', out)
status, out, err = dump('-i', RAW, '--stat', '--json')
stat = json.loads(out)
check(stat['nr'] == 13 and stat['size'] == 50 and stat['packets']['I_ASYNC'] == {'nr': 2, 'size': 24}, 'counts as JSON', out)
status, out, err = dump('-i', RAW, '--kind=atom,I_ADDR_S')
check([x[60:81].strip() for x in out.splitlines()[1:]] == ['I_ATOM_F3', 'I_ADDR_S_IS0'], '--kind', out)

FRAMED = snapshot('framed', [('ETM_0', 0x10, 1, 'etr'), ('ETM_1', 0x11, 1, 'etr'), ('ETM_2', 0x12, 1 | 1 << 8, 'etr')],
                  [('etr', 'coresight', frames([(0x10, TRACE), (0x11, TRACE), (0x10, ASYNC + b'\x01\x00\xfa'), (0x12, b'\x01')]))])
status, out, err = dump('-i', FRAMED, '--json')
lines = [json.loads(x) for x in out.splitlines()]
check({x['id'] for x in lines} == {16, 17}, 'two units of a formatter', out)
data = open(os.path.join(work, FRAMED, 'etr.bin'), 'rb').read()
check(all(not x['bytes'] or data[x['input']] | 1 == int(x['bytes'][:2], 16) | 1 for x in lines), 'INPUT is where the byte is in the file',
      [x for x in lines if x['bytes'] and data[x['input']] | 1 != int(x['bytes'][:2], 16) | 1])
check('ETM_2' in err and 'conditional' in err and err.count('conditional') == 1, 'what is not decoded is named, once', err)
check('trace of an ID' not in err, 'and is not said to be of no unit', err)
for option in ('--id=11', '--cpu=1'):
    status, out, err = dump('-i', FRAMED, '--json', option)
    check(status == 0 and {json.loads(x)['id'] for x in out.splitlines()} == {17}, option, out)

LOST = snapshot('lost', [('ETM_0', 0x10, 1, 'etr')],
                [('etr', 'coresight', b'\x54' * 15 + b'\x00' + frames([(0x10, TRACE), (0x33, ASYNC), (0x7d, b'abc')]) + b'\xff' * 16 + b'123')])
status, out, err = dump('-i', LOST, '--stat')
check(out.endswith('''
In 7 frames, and of no trace unit (14 bytes of padding apart):
  13 bytes of trace ID 33, which no trace unit has
  3 bytes of reserved trace IDs (70-7f)
  15 bytes before the first trace ID
  19 bytes in no whole frame, skipped
  1 time a frame was broken, and the next one was searched
'''), '--stat: what no trace unit has', out)
status, out, err = dump('-i', LOST, '--stat', '--json')
FRAMES_JSON = {'frames': 7, 'barriers': 0, 'resyncs': 1, 'padding_bytes': 14, 'reserved_bytes': 3, 'before_id_bytes': 15, 'skipped_bytes': 19,
               'unclaimed': [{'id': 0x33, 'size': 13}]}
check(json.loads(out.splitlines()[-1]) == FRAMES_JSON, 'and as JSON', out)

# An ID, a byte after the next one that still is the old one's, padding; a sync in a frame; half a frame.
SEEN = bytes.fromhex('21aabacc23dd10ee 0100 000000000004'.replace(' ', ''))
SEEN = snapshot('seen', [('ETM_0', 0x10, 1, 'etr')], [('etr', 'coresight', SEEN + b'\x54' * 15 + b'\x00' + b'\xff' * 2 + b'x' * 14 + b'12')])
status, out, err = dump('-i', SEEN, '--frames')
check(status == 0 and out == '''\
# etr.bin
         0  FRAME   21 aa ba cc 23 dd 10 ee 01 00 00 00 00 00 00 04  10[1-3] 10[5] 11[6-7] pad[9-14]
        16  FRAME   54 54 54 54 54 54 54 54 54 54 54 54 54 54 54 00  pad[0-14]
        32  BROKEN  ff ff 78 78 78 78 78 78 78 78 78 78 78 78 78 78
        48  SKIPPED 2 bytes
''', '--frames', out + err)
status, out, err = dump('-i', SEEN, '--frames', '--json')
lines = [json.loads(x) for x in out.splitlines()]
check(lines[0] == {'file': 'etr.bin', 'input': 0, 'size': 16, 'what': 'FRAME', 'bytes': '21aabacc23dd10ee0100000000000004',
                   'parts': [{'id': 16, 'at': 1, 'size': 3}, {'id': 16, 'at': 5, 'size': 1}, {'id': 17, 'at': 6, 'size': 2},
                             {'id': 0, 'at': 9, 'size': 6}]}, '--frames --json: a frame', lines[0])
check(lines[3] == {'file': 'etr.bin', 'input': 48, 'size': 2, 'what': 'SKIPPED'}, 'and what is none', lines[3])
SYNCS = snapshot('syncs', [('ETM_0', 0x10, 1, 'tpiu')],
                 [('tpiu', 'tpiu_hsync', b'z\xff\xff\xff\x7f\x21a\xff\x7f' + b'b' * 13 + b'\x00\xff\xff\xff\x7f')])
status, out, err = dump('-i', SYNCS, '--frames')
check([x.split()[:2] for x in out.splitlines()[1:]] == [['0', 'SKIPPED'], ['1', 'FSYNC'], ['7', 'HSYNC'], ['5', 'FRAME'], ['23', 'FSYNC']],
      '--frames: FSYNC and HSYNC', out)
status, out, err = dump('-i', RAW, '--frames')
check(status == 0 and not out and 'no trace of it is in frames' in err, '--frames: trace without frames', out + err)

REGS = 'TRCCONFIGR=1,TRCTRACEIDR=0x10,TRCIDR0=0x280006c1,TRCIDR1=0x4100f424,TRCIDR2=0x488'
status, out, err = dump('--raw', os.path.join(RAW, 'one.bin'), '--regs', REGS, '--format=source_data', '--protocol=ETMv4')
check(status == 0 and out.splitlines()[0] == '# ID 10: raw, ETMv4.2, raw/one.bin' and out.splitlines()[1:] == WANT.splitlines()[1:], '--raw', out + err)
status, out, err = dump('--raw', os.path.join(FRAMED, 'etr.bin'), '--regs', REGS.replace('0x10,', '0x11,'), '--json')
same = dump('-i', FRAMED, '--id=11', '--json')[1]
keep = ('offset', 'input', 'bytes', 'packet')
check(out and [[json.loads(x)[k] for k in keep] for x in out.splitlines()] == [[json.loads(x)[k] for k in keep] for x in same.splitlines()],
      '--raw of frames: as the snapshot', out + err)
for args, want, word in ((('--raw', 'x'), 2, 'needs the registers'), (('--raw', 'x', '--regs', 'TRCNONE=1'), 2, 'an unknown register'),
                         (('--raw', 'x', '--regs', 'TRCCONFIGR'), 2, 'NAME=NUMBER'), (('--raw', 'nowhere', '--regs', REGS), 1, 'nowhere'),
                         (('--raw', 'x', '-i', RAW, '--regs', REGS), 2, 'exclude'), (('--regs', REGS), 2, 'the trace of --raw'),
                         (('--raw', 'x', '--regs', REGS, '--protocol=PTM'), 2, 'ETMv4 or ETE'),
                         (('--raw', RAW + '/one.bin', '--regs', REGS, '--format=none'), 1, "format 'none'"),
                         (('--raw', RAW + '/one.bin', '--regs', 'TRCCONFIGR=1,TRCTRACEIDR=0x10'), 1, 'TRCIDR0 is not given')):
    status, out, err = dump(*args)
    check(status == want and word in err and not out, 'status %d: %s' % (want, ' '.join(args)), (status, out, err))

for args, want, word in ((('-i', RAW, '--frames', '--stat'), 2, 'exclude'), (('-i', RAW, '--frames', '--kind=ATOM'), 2, 'exclude'),
                         (('-i', RAW, '--kind=ATOMS'), 2, "no packet 'ATOMS'"), (('-i', RAW, '--id=77'), 1, 'no trace unit is left'),
                         (('-i', RAW, '--id=x'), 2, '--id'), (('-i', RAW, 'more'), 2, "'more'"),
                         (('-i', FRAMED, '--id=12'), 1, 'nothing to decode'), (('-i', 'nowhere'), 1, 'nowhere'),
                         (('-i', os.path.join(RAW, 'trace.ini')), 1, 'trace.ini')):
    status, out, err = dump(*args)
    check(status == want and word in err and not out, 'status %d: %s' % (want, ' '.join(args)), (status, out, err))

write(os.path.join(work, 'raw', 'one.bin'), b'')
status, out, err = dump('-i', RAW)
check(status == 0, 'an empty buffer is no error', (status, out, err))

p = subprocess.Popen((clew, 'dump', '-i', FRAMED), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work)
p.stdout.close()
err = p.stderr.read().decode()
check(p.wait() == 0 and 'error' not in err, 'a reader that goes away is no error', err)

shutil.rmtree(work)
done()
