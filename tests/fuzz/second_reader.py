#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of exported model libraries, for comparison with `gantry inspect --json`.

An independent implementation: it shares no code and no tables with core/formats. It is slow, small, and uses only the
standard library.

    second_reader.py FILE...     one JSON document a line: a container, or {"refused": why}

A file is undecided if the format is ambiguous for it: in the layout without lengths, an unknown type key whose payload
is followed by other entries. Two readers may guess differently.
"""
import json
import struct
import sys


class Refused(Exception):
    """The bytes break the format."""


class Undecided(Exception):
    """The format is ambiguous for these bytes."""


class Bytes:
    """A cursor over bytes with little-endian numbers; rejects every read beyond the end."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def left(self):
        return self.end - self.at

    def take(self, size):
        if size > self.left():
            raise Refused(f"needs {size} bytes at {self.at}, {self.left()} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def u64(self):
        return self.number("Q")

    def text(self):
        return self.take(self.u64())

    def count(self, least):
        count = self.u64()
        if count > self.left() // least:
            raise Refused(f"count {count} before {self.at}, room for {self.left() // least}")
        return count

    def words(self):
        return [self.u64() for _ in range(self.count(8))]

    def copy(self):
        return Bytes(self.data, self.at, self.end)


# ELF: only what the system's loader uses -----------------------------------------------------------------------------

PT_LOAD, PT_DYNAMIC = 1, 2
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH = 4, 5, 6, 10, 0x6FFFFEF5


class Elf:
    def __init__(self, data):
        self.data = data
        if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":
            raise Refused("file is not a 64-bit little-endian ELF file")
        header = Bytes(data, 16, 64).take(48)
        (phoff,), (phentsize, phnum) = struct.unpack("<Q", header[16:24]), struct.unpack("<HH", header[38:42])
        if phentsize != 56:
            raise Refused("size of a program header is not 56")
        self.segments = []
        dynamic = None
        for i in range(phnum):
            raw = Bytes(data, phoff + 56 * i).take(56) if phoff + 56 * i <= len(data) else None
            if raw is None:
                raise Refused("program headers end beyond the file")
            kind, _, offset, address, _, size = struct.unpack("<IIQQQQ", raw[:40])
            if kind == PT_LOAD:
                self.segments.append((address, offset, size))
            if kind == PT_DYNAMIC:
                dynamic = (offset, size)
        if dynamic is None:
            raise Refused("no dynamic segment")
        self.read_symbols(self.tags_of(*dynamic))

    def tags_of(self, offset, size):
        if offset + size > len(self.data):
            raise Refused("dynamic segment ends beyond the file")
        tags, cursor = {}, Bytes(self.data, offset, offset + size)
        while cursor.left() >= 16:
            tag, value = cursor.u64(), cursor.u64()
            if tag == 0:
                break
            tags.setdefault(tag, value)
        return tags

    def at(self, address):
        """Returns a cursor from an address to the end of the file part of its segment."""
        for begin, offset, size in self.segments:
            if begin <= address < begin + size:
                if offset + size > len(self.data):
                    raise Refused("a segment ends beyond the file")
                return Bytes(self.data, offset + address - begin, offset + size)
        raise Refused(f"address {address:#x} is in no segment")

    def symbol_count(self, tags):
        if DT_HASH in tags:
            table = self.at(tags[DT_HASH])
            table.number("I")
            return table.number("I")
        table = self.at(tags[DT_GNU_HASH])
        buckets, first, bloom, _ = (table.number("I") for _ in range(4))
        table.take(8 * bloom)
        last = max([table.number("I") for _ in range(buckets)], default=0)
        if last < first:
            return first
        table.take(4 * (last - first))
        while table.number("I") & 1 == 0:
            last += 1
        return last + 1

    def read_symbols(self, tags):
        if DT_SYMTAB not in tags or DT_STRTAB not in tags or not (DT_HASH in tags or DT_GNU_HASH in tags):
            raise Refused("no symbol table, string table or hash table")
        names = self.at(tags[DT_STRTAB]).take(tags.get(DT_STRSZ, 0))
        table = self.at(tags[DT_SYMTAB])
        self.symbols = {}
        for i in range(self.symbol_count(tags)):
            name, _, _, section, value, size = struct.unpack("<IBBHQQ", table.take(24))
            end = names.find(b"\0", name)
            if name >= len(names) or end < 0:
                raise Refused(f"symbol {i} has no name")
            if i != 0:
                self.symbols.setdefault(names[name:end], (section, value, size))


# Payloads: the end of each type key's payload ------------------------------------------------------------------------


def skip_function_info(b, tags):
    b.text()
    b.take(4 * b.count(4))
    for _ in range(b.count(8)):
        b.text()
    if tags:
        b.take(4 * b.count(4))


def function_map(b, tags):
    for _ in range(b.count(8)):
        b.text()
        skip_function_info(b, tags)


def format_text(b):
    text = b.text()
    if not 1 <= len(text) <= 16 or any(c < 0x20 or c > 0x7E for c in text):
        raise Refused("format is not 1 to 16 printable characters")


def texts(b):
    for _ in range(b.count(8)):
        b.text()


def array(b):
    if b.u64() != 0xDD5E40F096B4A13F:
        raise Refused("array record has another magic number")
    b.take(16)
    dimensions = b.number("i")
    code_bits_lanes = b.take(4)
    del code_bits_lanes
    if dimensions < 0:
        raise Refused("number of dimensions is negative")
    b.take(8 * dimensions)
    size = b.number("q")
    if size < 0:
        raise Refused("size of an array is negative")
    b.take(size)


def graph_parameters(b):
    count = b.u64()
    names = b.count(8)
    for _ in range(names):
        b.text()
    if count > b.left():
        raise Refused("array count exceeds the bytes left")
    for _ in range(count):
        array(b)


def shader_map(b, wrapped):
    for _ in range(b.count(8)):
        b.text()
        end = b.at + 8 + b.u64() if wrapped else None
        b.number("I")
        b.take(4 * b.count(4))
        if end is not None and b.at != end:
            raise Refused("a shader does not end at its length")


def sequence(*steps):
    def walk(b, tags):
        for step in steps:
            step(b, tags)

    return walk


def text_map(b, _):
    for _ in range(b.count(8)):
        b.text()
        b.text()


def plain(step):
    return lambda b, _: step(b)


def numbers(form):
    return lambda b, _: b.take(struct.calcsize(form))


def text(b, _):
    b.text()


def ethos(sizes):
    def walk(b, _):
        for _ in range(b.count(8)):
            b.text()
            b.text()
            for _ in range(2):
                count = b.count(4)
                b.take(4 * count)
                if sizes:
                    b.take(4 * count)

    return walk


def exactly(expected):
    def walk(b, _):
        if b.text() != expected:
            raise Refused("text is not the expected one")

    return walk


def module_constants(b, _):
    for _ in range(b.count(8)):
        texts(b)


def arrays(b, _):
    for _ in range(b.count(8)):
        array(b)


FORMAT, TEXTS = plain(format_text), plain(texts)
COMMON = sequence(FORMAT, function_map, text)
SHADERS = plain(lambda b: shader_map(b, False))
WRAPPED = plain(lambda b: shader_map(b, True))
PARAMETERS = plain(graph_parameters)
CONSTANTS = sequence(TEXTS, arrays, TEXTS, module_constants)
GRAPH = sequence(text, PARAMETERS, text)

WAYS = {
    b"opencl": [COMMON, sequence(function_map, SHADERS)],
    b"metal": [sequence(exactly(b"0.1.0"), text_map, function_map, FORMAT), sequence(FORMAT, function_map, text_map), COMMON],
    b"vulkan": [sequence(FORMAT, function_map, WRAPPED), sequence(FORMAT, function_map, SHADERS)],
    b"webgpu": [sequence(function_map, text_map)],
    b"metadata": [CONSTANTS],
    b"const_loader": [CONSTANTS],
    b"GraphRuntimeFactory": [GRAPH],
    b"GraphExecutorFactory": [GRAPH],
    b"AotExecutorFactory": [sequence(PARAMETERS, text)],
    b"metadata_module": [sequence()],
    b"coreml": [sequence(text, text)],
    b"torch": [sequence(text, text)],
    b"ethos-n": [ethos(False), ethos(True)],
    b"VitisAIRuntime": [sequence(text, text, text, TEXTS)],
    b"mrvl_sim": [sequence(text, text), sequence(text, text, text)],
    b"mrvl_hw": [sequence(text, text, text, numbers("<iii"))],
    b"examplejson": [text],
    b"static_library": [sequence(text, TEXTS)],
    b"c": [sequence(text, text, TEXTS, TEXTS), sequence()],
}
for key in b"cuda hip hsaco hexagon aocl aocl_sw_emu sdaccel opengl".split():
    WAYS[key] = [COMMON]
for key in b"VMExecutable relax.Executable relax.VMExecutable".split():
    WAYS[key] = [text]
for key in (
    b"dnnl_json arm_compute_lib tensorrt bnns_json clml cublas_json cudnn_json hipblas_json nnapi msc_tensorrt"
    b" example_npu_json"
).split():
    WAYS[key] = [sequence(text, text, TEXTS)]


def following_key(b):
    """Returns the confidence that an entry or the end follows: 2 for the end or a known key, 1 for any key, else 0."""
    b = b.copy()
    if b.left() == 0:
        return 2
    try:
        key = b.text()
    except Refused:
        return 0
    if key in WAYS or key in (b"_lib", b"_import_tree"):
        return 2
    return int(is_key(key))


def end_of_payload(key, b, both_tags):
    """Returns a cursor at the end of the payload."""
    if key not in WAYS:
        raise Undecided("an unknown type key")
    ends, fault = {}, None
    for way in WAYS[key]:
        for tags in (True, False) if both_tags else (False,):
            cursor = b.copy()
            try:
                way(cursor, tags)
            except Refused as refused:
                fault = refused
                continue
            ends.setdefault(cursor.at, following_key(cursor))
    if not ends:
        raise fault
    best = max(ends.values())
    sure = sorted(at for at, score in ends.items() if score == best)
    if len(sure) > 1 and best == 0:
        raise Refused(f"no key follows the payload of {key!r} in any of its layouts")
    if len(sure) > 1 and key == b"mrvl_sim":
        # The older layout, which has one text less, if a known key follows it; else the newer.
        sure = sure[:1] if best == 2 else sure[-1:]
    if len(sure) > 1:
        raise Undecided("a payload with several possible ends")
    return Bytes(b.data, sure[0], b.end)


# Container -----------------------------------------------------------------------------------------------------------


def is_key(key):
    return 1 <= len(key) <= 256 and all(0x20 <= c <= 0x7E for c in key)


def read_key(b):
    key = b.text()
    if not is_key(key):
        raise Refused(f"type key {key[:40]!r} is invalid")
    return key


def check_tree(rows, children, modules):
    if len(rows) != modules + 1:
        raise Refused(f"{len(rows)} rows for {modules} modules")
    if rows[0] != 0 or rows[-1] != len(children) or any(a > b for a, b in zip(rows, rows[1:])):
        raise Refused("rows do not rise from 0 to the number of edges")
    if any(child >= modules for child in children):
        raise Refused("an edge names a module that does not exist")
    # Kahn's algorithm: a graph without a loop can be removed module by module, starting at its roots.
    imports = [children[rows[i] : rows[i + 1]] for i in range(modules)]
    importers = [0] * modules
    for child in children:
        importers[child] += 1
    open_modules = [i for i in range(modules) if importers[i] == 0]
    done = 0
    while open_modules:
        done += 1
        for child in imports[open_modules.pop()]:
            importers[child] -= 1
            if importers[child] == 0:
                open_modules.append(child)
    if done != modules:
        raise Refused("the import tree has a loop")
    return imports


def read_tree_first(b):
    rows, children = b.words(), b.words()
    if len(rows) < 2:
        raise Refused("a tree without modules")
    modules = []
    for _ in range(len(rows) - 1):
        key = read_key(b)
        if key == b"_lib":
            modules.append((key, None, 0))
            continue
        size = b.u64()
        modules.append((key, b.at, size))
        b.take(size)
    return modules, check_tree(rows, children, len(modules))


def end_of_last(b, modules):
    """Returns the offset of the import tree, where the last payload ends if its type key is unknown."""
    marker = struct.pack("<Q", len(b"_import_tree")) + b"_import_tree"
    found, at = [], b.data.find(marker, b.at, b.end)
    while at >= 0:
        tree = Bytes(b.data, at + len(marker), b.end)
        try:
            check_tree(tree.words(), tree.words(), modules)
            found += [at] if tree.left() == 0 else []
        except Refused:
            pass
        at = b.data.find(marker, at + 1, b.end)
    if len(found) != 1:
        raise Undecided("an unknown type key")
    return found[0]


def read_tree_last(b, both_tags):
    count = b.count(9)
    if count == 0:
        return [(b"_lib", None, 0)], [[]]
    modules = []
    for i in range(count):
        key = read_key(b)
        if key == b"_import_tree":
            if i != count - 1:
                raise Refused("the tree is not the last entry")
            rows, children = b.words(), b.words()
            return modules, check_tree(rows, children, len(modules))
        at = b.at
        if key == b"_lib":
            modules.append((key, None, 0))
            continue
        b.at = end_of_last(b, count - 1) if key not in WAYS and i == count - 2 else end_of_payload(key, b, both_tags).at
        modules.append((key, at, b.at - at))
    if any(key == b"_lib" for key, _, _ in modules):
        raise Refused("_lib is an entry and there is no tree")
    # Without a tree the library itself imports all modules.
    return [(b"_lib", None, 0)] + modules, [list(range(1, len(modules) + 1))] + [[] for _ in modules]


def is_tree_first(b):
    """Returns whether layout two is possible: its first row is 0, and a type key in layout one is never empty."""
    b = b.copy()
    return b.left() >= 16 and b.u64() >= 1 and b.u64() == 0


def read_container(data, begin, end, symbol_size, symbol):
    b = Bytes(data, begin, end)
    size = b.u64()
    if size < 8 or size > b.left():
        raise Refused(f"container of {size} bytes, room for {b.left()}")
    if symbol_size and symbol_size < size + 8:
        raise Refused("the symbol is smaller than the container")
    b.end = b.at + size
    # Two of the symbols determine the layout; for the third the bytes do.
    either = symbol == BLOBS[1]
    tree_first = is_tree_first(b) if either else symbol == BLOBS[0]
    modules, imports = read_tree_first(b) if tree_first else read_tree_last(b, either)
    return {
        "container": {"file_offset": begin, "size": size + 8},
        "modules": [
            {
                "type_key": key.decode("ascii"),
                "offset": None if at is None else at - begin,
                "size": length,
                "imports": children,
            }
            for (key, at, length), children in zip(modules, imports)
        ],
    }


BLOBS = (b"__tvm_ffi__library_bin", b"__tvm_ffi_library_bin", b"__tvm_dev_mblob")


def read_library(data):
    elf = Elf(data)
    for blob in BLOBS:
        section, address, size = elf.symbols.get(blob, (0, 0, 0))
        if section == 0:
            continue
        if b"__tvm_dev_mblob_nbytes" in elf.symbols:
            raise Undecided("the oldest form, which has no length")
        room = elf.at(address)
        return read_container(data, room.at, room.end, size, blob)
    return {"container": None, "modules": [{"type_key": "_lib", "offset": None, "size": 0, "imports": []}]}


def read(data):
    try:
        return read_library(data)
    except Refused as refused:
        return {"refused": str(refused)}
    except Undecided as undecided:
        return {"undecided": str(undecided)}


def main(paths):
    for path in paths:
        with open(path, "rb") as file:
            print(json.dumps(read(file.read())))


if __name__ == "__main__":
    main(sys.argv[1:])
