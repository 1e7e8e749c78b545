# SPDX-License-Identifier: LGPL-2.1-or-later
"""CoreSight trace and OpenCSD snapshot directories, for tests in Python: bytes of ETMv4 packets, frames, and the texts of .ini files."""
import os

SYNC = bytes(11) + b'\x80\x01\x01\x00\x04'


def address(at):
    """I_ADDR_L_32IS0."""
    return bytes([0x9a, at >> 2 & 0x7f, at >> 9 & 0x7f, at >> 16 & 0xff, at >> 24 & 0xff])


def address_context(at, info=0x31):
    """I_ADDR_CTXT_L_32IS0: EL1, non-secure, AArch64."""
    return bytes([0x82]) + address(at)[1:] + bytes([info])


def a64_trace(at, info=0x31):
    """Async, trace info, trace on, address with context, E, E."""
    return SYNC + address_context(at, info) + b'\xf7\xf7'


def frames(*sources, sync=b''):
    """CoreSight frames of (ID, bytes), one source after the other, filled with leading zeros."""
    out = b''
    for source, data in sources:
        data = bytes(-len(data) % 14) + data
        for i in range(0, len(data), 14):
            f = bytearray([source << 1 | 1]) + data[i:i + 14] + b'\0'
            for k in range(2, 15, 2):
                f[15] |= (f[k] & 1) << k // 2
                f[k] &= 0xfe
            out += sync + f
    return out


def with_footers(data):
    """As a DSTREAM stores it: after each 504 bytes 8 of its own, flags that come and go and a count down."""
    flags = ('00000000', '02000000', '00000000', '00000080')
    return b''.join(data[at:at + 504] + (bytes.fromhex(flags[k % 4]) + bytes([k % 3 and 0x7e, 0xc0, 0xfe - k, 0x0f]) if at + 504 <= len(data) else b'')
                    for k, at in enumerate(range(0, len(data), 504)))


def ini(devices, metadata='trace.ini', head='[snapshot]\nversion=1.0\n', first=0):
    return head + '\n[device_list]\n' + ''.join('device%d=%s\n' % (i + first, d) for i, d in enumerate(devices)) + '\n[trace]\nmetadata=%s\n' % metadata


def board_core(name, kind, dump='dump1', address=0x10000, more=''):
    return '[device]\nname=%s\nclass=core\ntype=%s\n\n[regs]\nPC(size:64)=0xFFFFFFC000081000\nSP(size:64)=0\nSCTLR_EL1=0x1007\nCPSR=0x1C5\n\n' \
        '[%s]\nfile=kernel_dump.bin\naddress=0x%08X\n%s' % (name, kind, dump, address, more)


def board_etm(name, source, config=1, idr1=0x4100f403):
    return '[device]\nname=%s\nclass=trace_source\ntype=ETM4\n\n[regs]\nTRCCONFIGR(0x004)=0x%08X\nTRCTRACEIDR(0x010)=0x%08X\n' \
        'TRCAUTHSTATUS(0x3EE)=0x000000CC\nTRCIDR0(0x078)=0x28000EA1\nTRCIDR1(0x079)=0x%08X\nTRCIDR2(0x07A)=0x00000488\nTRCIDR8(0x060)=0x00000000\n' \
        'TRCIDR13(0x065)=0x00000000\n' % (name, config, source, idr1)


def trace_ini(buffers, sources, cores, extra=''):
    text = extra + '[trace_buffers]\nbuffers=%s\n\n' % ','.join(b[0] for b in buffers)
    for section, name, file, kind in buffers:
        text += '[%s]\nname=%s\nfile=%s\nformat=%s\n\n' % (section, name, file, kind)
    return text + '[source_buffers]\n' + ''.join('%s=%s\n' % s for s in sources) + '\n[core_trace_sources]\n' + ''.join('%s=%s\n' % c for c in cores)


def write_snapshot(top, files):
    """@files: path -> bytes or text."""
    for path, data in files.items():
        path = os.path.join(top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())


def write_raw_snapshot(top, trace, code, at=0x10000, source=0x10):
    """One ETMv4 with a buffer without frames, and the code that it ran at @at."""
    write_snapshot(top, {
        'snapshot.ini': ini(['cpu_0.ini', 'device_1.ini']), 'code.bin': code,
        'cpu_0.ini': board_core('cpu_0', 'Cortex-A53', address=at).replace('kernel_dump.bin', 'code.bin'), 'device_1.ini': board_etm('ETM_0', source),
        'trace.ini': trace_ini([('buffer0', 'ETB_0', 'trace.bin', 'source_data')], [('ETM_0', 'ETB_0')], [('cpu_0', 'ETM_0')]), 'trace.bin': trace,
    })
