#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: snapshot_forms_test.py CLEW: snapshot directories as tools write them (DS-5, csaccess on boards, models), each with little trace
made here: `clew trace`, `--digest` and `clew dump` take every form. Forms: the .ini files of OpenCSD's tests, by what is in them. TAP."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from cs_snapshot import SYNC, a64_trace, board_core, board_etm, frames, ini, trace_ini, with_footers, write_snapshot

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
checks = failed = 0

A64 = bytes.fromhex('00040091' '02000014' '1f2003d5' 'c0035fd6')  # add; b .+8; nop; ret
T32 = bytes.fromhex('00bf' '01e0' '00bf' '00bf' '7047')  # nop; b .+6; nop; nop; bx lr


def t32_trace(at):
    """The same in T32, EL0 secure, with no IDs: nop, b, bx."""
    return SYNC + bytes([0x83, at >> 1 & 0x7f, at >> 8 & 0xff, at >> 16 & 0xff, at >> 24 & 0xff, 0x00, 0xf7, 0xf7])


def digest(source, addresses):
    return '%x\t%d\t%s' % (source, len(addresses), hashlib.sha256(b''.join(b'%x\n' % a for a in addresses)).hexdigest())


def run(*args):
    p = subprocess.run((clew,) + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def check(ok, what, *more):
    global checks, failed
    checks += 1
    failed += not ok
    print('%s %d - %s' % ('ok' if ok else 'not ok', checks, what))
    for m in () if ok else more:
        print('# ' + str(m).replace('\n', '\n# '))


def form(name, files, want, says=(), status_wanted=0):
    """@want: (ID, addresses) of each trace ID with instructions. @says: words on standard error, each in one line."""
    top = os.path.join(work, name)
    write_snapshot(top, files)
    status, out, err = run('trace', '--digest', '-i', top)
    lines = ['\t'.join(x.split()) for x in out.splitlines() if x.split()[1:2] != ['0']]
    check(status == status_wanted and lines == [digest(*w) for w in want], name + ': digest', status, out, err, [digest(*w) for w in want])
    check(all(sum(s in line for line in err.splitlines()) == 1 for s in says), name + ': said once: %s' % ', '.join(says), err)
    status, out, err = run('trace', '-i', top)
    check(status == status_wanted, name + ': trace', status, out, err)
    status, out, err = run('dump', '-i', top)
    check(status == status_wanted and ('I_ASYNC' in out or status_wanted), name + ': dump', status, out, err)


def old_etm(name, kind, source):
    return '[device]\nname=%s\nclass=trace_source\ntype=%s\n\n[regs]\nETMCR(0x000)=0x10001000\nETMIDR(0x079)=0x411CF301\nETMCCER(0x07A)=0x000008EA\n' \
        'ETMTRACEIDR(0x080)=0x%08X\n' % (name, kind, source)


def ds5_etm(name, kind, source, idr1=0x4200f410, idr0=0x08000ca1, idr2=0x20001088, config=1):
    return '[device]\nname=%s\nclass=trace_source\ntype=%s\n\n[regs]\nTRCPROCSELR(id:0x2)=0x00000000\nTRCCONFIGR(id:0x4)=0x%08X\n' \
        'TRCTRACEIDR(id:0x10)=0x%08X\nTRCIDR8(id:0x60)=0x00000000\nTRCIDR0(id:0x78)=0x%08X\nTRCIDR1(id:0x79)=0x%08X\nTRCIDR2(id:0x7A)=0x%08X\n' \
        'TRCACVR0(id:0x100)(size:64)=0x0000000000000000\n' % (name, kind, config, source, idr0, idr1, idr2)


def ete(name, source, config=0x1, devarch=0x47705a13, idr0=0x2801cea1):
    return '[device]\nname=%s\nclass=trace_source\ntype=ETE\n\n\n[regs]\nTRCCONFIGR=0x%x\nTRCTRACEIDR=0x%x\nTRCDEVARCH=0x%x\nTRCIDR0=0x%x\n' \
        'TRCIDR1=0x4100fff0\nTRCIDR2=0xd0001088\nTRCIDR8=0x0\n\n' % (name, config, source, devarch, idr0)


RAN = [0x10000, 0x10004, 0x1000c]
T_RAN = [0x10000000, 0x10000002, 0x10000008]
STM = '[device]\nname=STM_12\nclass=trace_source\ntype=STM\n\n[regs]\nSTMTCSR(0x3A0)=0x00A00005\n'

# Boards: several ETMv4 in frames, an STM in a buffer of its own, CRLF ends.
form('board', {
    'snapshot.ini': ini(['cpu_0.ini', 'cpu_1.ini', 'device_6.ini', 'device_7.ini', 'device_12.ini']).replace('\n', '\r\n'),
    'cpu_0.ini': board_core('cpu_0', 'Cortex-A53', more='length=0x00000010\n').replace('\n', '\r\n'),
    'cpu_1.ini': board_core('cpu_1', 'Cortex-A57', more='length=0x00000010\n'),
    'device_6.ini': board_etm('ETM_0', 0x10), 'device_7.ini': board_etm('ETM_1', 0x12, config=0), 'device_12.ini': STM,
    'trace.ini': trace_ini([('buffer0', 'ETB_0', 'cstrace.bin', 'coresight'), ('buffer1', 'ETB_1', 'cstraceitm.bin', 'coresight')],
                           [('ETM_0', 'ETB_0'), ('ETM_1', 'ETB_0'), ('STM_12', 'ETB_1')], [('cpu_0', 'ETM_0'), ('cpu_1', 'ETM_1')]),
    'kernel_dump.bin': A64, 'cstrace.bin': frames((0x10, a64_trace(0x10000)), (0x12, a64_trace(0x10000))), 'cstraceitm.bin': frames((0x20, bytes(14))),
}, [(0x10, RAN), (0x12, RAN)], ['STM_12'])

# Sources of the list without device files, a dump in two parts by offset, a length that is commented out, a section named dump3a.
form('offsets', {
    'snapshot.ini': ini(['cpu_3.ini', 'device_9.ini']),
    'cpu_3.ini': '[device]\nname=cpu_3\nclass=core\ntype=Cortex-A53\n\n[regs]\nPC(size:64)=0\n\n[dump3]\nfile=ld.bin\naddress=0x10000\nlength=0x8\n'
                 '#length=0x10\n[dump3a]\nfile=ld.bin\naddress=0x10008\nlength=0x08\noffset=0x8\n\n[dump4]\nfile=vdso.bin\naddress=0x7f8e5ba000\nlength=0x1000\n',
    'device_9.ini': board_etm('ETM_3', 0x16), 'ld.bin': A64, 'vdso.bin': bytes(16),
    'trace.ini': trace_ini([('buffer0', 'ETB_0', 'trace.bin', 'coresight')], [('ETM_%d' % i, 'ETB_0') for i in range(6)],
                           [('cpu_%d' % i, 'ETM_%d' % i) for i in range(6)]),
    'trace.bin': frames((0x16, a64_trace(0x10000))),
}, [(0x16, RAN)], ['ETM_0', 'ETM_5'])

# PTM only: nothing of it is decoded, which is reported of each, and by the status.
form('ptm', {
    'snapshot.ini': ini(['cpu_0.ini', 'device_2.ini', 'device_3.ini']), 'cpu_0.ini': board_core('cpu_0', 'Cortex-A9', 'dump', more='length=0x50000\n'),
    'device_2.ini': old_etm('PTM_0', 'PTM1.0', 0x10), 'device_3.ini': old_etm('PTM_1', 'PTM1.0', 0x11), 'kernel_dump.bin': A64,
    'trace.ini': trace_ini([('buffer0', 'ETB_0', 'cstrace.bin', 'coresight')], [('PTM_0', 'ETB_0'), ('PTM_1', 'ETB_0')], [('cpu_0', 'PTM_0'), ('cpu_1', 'PTM_1')]),
    'cstrace.bin': frames((0x10, bytes(28)), (0x11, bytes(14))),
}, [], ['PTM_0', 'PTM_1'], status_wanted=1)

# All old kinds, an ITM with its register named otherwise, and one ETMv4: that one is decoded.
form('old-and-new', {
    'snapshot.ini': ini(['cpu_0.ini', 'device_5.ini', 'device_8.ini', 'device_9.ini', 'device_10.ini', 'device_12.ini']),
    'cpu_0.ini': board_core('cpu_0', 'Cortex-A7', 'dump', more='length=0x10\n'), 'kernel_dump.bin': A64,
    'device_5.ini': old_etm('ETM_0', 'ETM3.5', 0x10), 'device_8.ini': old_etm('PTM_0', 'PTM1.1', 0x13), 'device_9.ini': board_etm('ETM_9', 0x15),
    'device_10.ini': '[device]\nname=ITM_0\nclass=trace_source\ntype=ITM\n\n[regs]\nITM_CTRL(0x3A0)=0x00200006\n', 'device_12.ini': STM,
    'trace.ini': trace_ini([('buffer0', 'ETB_0', 'cstrace.bin', 'coresight')], [(n, 'ETB_0') for n in ('ETM_0', 'PTM_0', 'ITM_0', 'STM_12', 'ETM_9')],
                           [('cpu_0', 'ETM_0'), ('cpu_3', 'PTM_0'), ('cpu_0', 'ETM_9')]),
    'cstrace.bin': frames((0x10, b'\x55' * 14), (0x13, b'\x66' * 14), (0x20, b'\x77' * 14), (0x15, a64_trace(0x10000))),
}, [(0x15, RAN)], ['ETM_0 (ID 10)', 'PTM_0 (ID 13)', 'ITM_0 (ID 20)', 'STM_12 (ID 20)'])

# An STM, an ITM alone; no core at all.
for kind, register in ('STM', 'STMTCSR(0x3A0)=0x00A00007'), ('ITM', 'ITMTCR(0xE80)=0x00140000'):
    for layout in 'coresight', 'source_data':
        form('%s-only-%s' % (kind, layout), {
            'snapshot.ini': ini(['device_0.ini']), 'device_0.ini': '[device]\nname=%s_0\nclass=trace_source\ntype=%s\n\n[regs]\n%s\n' % (kind, kind, register),
            'trace.ini': trace_ini([('buffer1', 'ETB_1', 'data.bin', layout)], [(kind + '_0', 'ETB_1')], []),
            'data.bin': frames((0x20 if kind == 'STM' else 0x14, bytes(14))),
        }, [], [kind + '_0'], status_wanted=1)

# DS-5: comments first, devices from 1 on, names with numbers, registers with ids, a raw PTM with a buffer of its name.
DS5 = '; DS-5 snapshot\n[snapshot]\nversion=1.0\n'
form('ds5', {
    'snapshot.ini': ini(['device1.ini', 'device2.ini'], head=DS5, first=1), 'contents.ini': '; CoreSight trace dump\n[trace]\nmetadata=trace.ini\nbuffer0=x.bin\n',
    'device1.ini': board_core('Cortex-A57_0', 'Cortex-A57', more='length=0x10\nspace=S\n') + '[dump2]\nfile=gone.bin\naddress=0x20000\nlength=0x10\nspace=EL2\n',
    'device2.ini': ds5_etm('CSETM_0', 'ETM4.1', 0x10), 'kernel_dump.bin': A64,
    'trace.ini': trace_ini([('buffer0', 'CSTMC_TRACE_FIFO', 'CSTMC_TRACE_FIFO.bin', 'coresight')], [('CSETM_0', 'CSTMC_TRACE_FIFO')],
                           [('Cortex-A57_0', 'CSETM_0')], '; DS-5 trace metadata\n; timestamp metadata\n[timestamp]\nfrequency=25000000\n'),
    'CSTMC_TRACE_FIFO.bin': frames((0x10, a64_trace(0x10000, info=0x11))),
}, [(0x10, RAN)], ['gone.bin'])
form('ds5-tpiu', {
    'snapshot.ini': ini(['device1.ini', 'device2.ini'], head=DS5, first=1), 'device1.ini': board_core('Cortex-A55_0', 'Cortex-A55', more='space=S\n'),
    'device2.ini': ds5_etm('CSETM_0', 'ETM4.2', 0x1), 'kernel_dump.bin': A64,
    'trace.ini': trace_ini([('buffer0', 'DSTREAM_0', 'DSTREAM_0.bin', 'dstream_coresight')], [('CSETM_0', 'DSTREAM_0')], [('Cortex-A55_0', 'CSETM_0')]),
    'DSTREAM_0.bin': frames((0x1, a64_trace(0x10000, info=0x11)), sync=b'\xff\xff\xff\x7f'),
}, [(0x1, RAN)])
form('ds5-dstream', {
    'snapshot.ini': ini(['device1.ini', 'device2.ini'], head=DS5, first=1), 'device1.ini': board_core('Cortex-A55_0', 'Cortex-A55', more='space=S\n'),
    'device2.ini': ds5_etm('CSETM_0', 'ETM4.2', 0x1), 'kernel_dump.bin': A64,
    'trace.ini': trace_ini([('buffer0', 'DSTREAM_0', 'DSTREAM_0.bin', 'dstream_coresight')], [('CSETM_0', 'DSTREAM_0')], [('Cortex-A55_0', 'CSETM_0')]),
    'DSTREAM_0.bin': with_footers(frames((0x1, a64_trace(0x10000, info=0x11) * 1200), sync=b'\xff\xff\xff\x7f')),
}, [(0x1, RAN * 1200)])
form('ds5-raw', {
    'snapshot.ini': ini(['device1.ini', 'device2.ini'], head=DS5, first=1), 'device1.ini': '[device]\nname=Cortex-A57_0\nclass=core\ntype=Cortex-A57\n',
    'device2.ini': ds5_etm('CSETM_0', 'ETM4.4', 0, idr1=0x4200f440),
    'trace.ini': trace_ini([('buffer0', 'CSTMC_TRACE_FIFO', 'tracebuffer.bin', 'source_data')], [('CSETM_0', 'CSTMC_TRACE_FIFO')], [('Cortex-A57_0', 'CSETM_0')]),
    'tracebuffer.bin': a64_trace(0x10000),
}, [])
form('ds5-ptm', {
    'snapshot.ini': ini(['device1.ini', 'device2.ini', 'device5.ini'], head=DS5, first=1), 'device1.ini': board_core('Cortex-A15_0', 'Cortex-A15'),
    'device2.ini': old_etm('ETM_0_4', 'ETM3.5', 4), 'device5.ini': old_etm('PTM_0_2', 'PFT1.1', 2), 'kernel_dump.bin': A64,
    'trace.ini': trace_ini([('buffer0', 'PTM_0_2', 'PTM_0_2.bin', 'source_data')], [('PTM_0_2', 'PTM_0_2')],
                           [('Cortex-A7_0', 'ETM_0_4'), ('Cortex-A15_0', 'PTM_0_2')], '; DS-5 trace metadata\n[timestamp]\nfrequency=25000000\n'),
    'PTM_0_2.bin': bytes(28),
}, [], ['PTM_0_2'], status_wanted=1)

# M profile: v7-M with a unit of v4.6, v8-M with the core's name otherwise, v8.1-M with 32-bit addresses and no IDs.
for name, core, kind, idr1, address in (('v7m', 'Cortex-M7_0', 'ETM4.0', 0x4100f463, 'dump1'), ('v8m', 'Cortex-M33', 'ETM4.4', 0x4100f443, 'dump1'),
                                        ('v81m', 'cpu_0', 'ETM4', 0x4100f454, 'dump.text1')):
    form('m-profile-' + name, {
        'snapshot.ini': ini(['device1.ini', 'device2.ini'], first=1),
        'device1.ini': '[device]\nname=%s\nclass=core\ntype=%s\n\n[regs]\nPC(size:32)=0x10000140\nxPSR=0x01000000\n\n[%s]\naddress=0x10000000\nlength=0xa\n'
                       'file=code.bin\n' % (core, {'v7m': 'Cortex-M7', 'v8m': 'Cortex-M33', 'v81m': 'Cortex-M55'}[name], address),
        'device2.ini': ds5_etm('CSETM_4', kind, 0x6 if name != 'v81m' else 0, idr1, 0x280006e1, 0x4 if name == 'v81m' else 0x1088, 0x880 if name != 'v81m' else 1),
        'trace.ini': trace_ini([('buffer0', 'CSTMC_TRACE_FIFO', 'tracebuffer.bin', 'source_data')], [('CSETM_4', 'CSTMC_TRACE_FIFO')],
                               [('Cortex-M33_0' if name == 'v8m' else core, 'CSETM_4')]),
        'code.bin': T32, 'tracebuffer.bin': t32_trace(0x10000000),
    }, [(0x6 if name != 'v81m' else 0, T_RAN)])

# Models: ETE, one core with a source for each session, sections not in the list's order, an empty session, a comma at the end.
form('model', {
    'snapshot.ini': '[snapshot]\nversion=1.0\ndescription=checker_metadata.ini\n\n[device_list]\ndevice0=cpu_0.ini\ndevice1=ETE_0_s1.ini\ndevice2=ETE_0_s2.ini\n'
                    'device3=ETE_0_s3.ini\n\n[trace]\nmetadata=trace.ini\n',
    'checker_metadata.ini': '[trace_source]\nsessions = session1\n\n[session1]\npartnum = 1\nchecktype = TRC_CFC_CHECK\n',
    'cpu_0.ini': board_core('cpu_0', 'ARM-AA64', more='length=0x8\n').replace('kernel_dump.bin', 'bindir_64ns/OTHERS_exec') +
                 '[dump2]\nfile=bindir_64ns/TEST_exec\naddress=0x00010008\nlength=0x8\n',
    'ETE_0_s1.ini': ete('ETE_0_s1', 1, 0x48001, 0x47735a13, 0x28c1cea1), 'ETE_0_s2.ini': ete('ETE_0_s2', 1, 0x8801, 0x47715a13),
    'ETE_0_s3.ini': ete('ETE_0_s3', 2, 0x81, 0x47705a13, 0x4801cea1),
    'bindir_64ns/OTHERS_exec': A64[:8], 'bindir_64ns/TEST_exec': A64[8:],
    'trace.ini': trace_ini([('buffer1', 'ETB_1', 'session1.bin', 'source_data'), ('buffer3', 'ETB_3', 'session3.bin', 'source_data'),
                            ('buffer2', 'ETB_2', 'session2.bin', 'source_data')],
                           [('ETE_0_s%d' % i, 'ETB_%d' % i) for i in (1, 2, 3)], [('cpu_0', 'ETE_0_s%d' % i) for i in (1, 2, 3)]).replace('buffer2\n\n', 'buffer2,\n\n', 1),
    'session1.bin': a64_trace(0x10000), 'session2.bin': b'', 'session3.bin': a64_trace(0x10000),
}, [(0x1, RAN), (0x2, RAN)])

shutil.rmtree(work)
print('1..%d' % checks)
sys.exit(failed != 0)
