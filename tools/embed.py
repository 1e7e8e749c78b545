# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: embed.py NAME INPUT OUTPUT: the bytes of INPUT as a C array NAME, and NAME_bytes."""
import sys

name, source, target = sys.argv[1:]
with open(source, 'rb') as f:
    data = f.read()
with open(target, 'w') as f:
    f.write('#include <stddef.h>\n')
    f.write(f'extern const unsigned char {name}[];\nextern const size_t {name}_bytes;\n')
    f.write(f'__attribute__((aligned(8))) const unsigned char {name}[] = {{\n')
    for i in range(0, len(data), 32):
        f.write(','.join(map(str, data[i:i + 32])) + ',\n')
    f.write(f'}};\nconst size_t {name}_bytes = {len(data)};\n')
