#!/usr/bin/env python3
"""Writes the Chakra traces of a training step of 8 ranks, pipeline.RANK.et, into the folder of this file or the one that is named.

Two stages of a pipeline (ranks 0 to 3, and 4 to 7) with 3 layers each; rank r of the first sends its activations to rank r + 4, and
gets gradients back. In each stage the gradients of a layer are reduced to all (process groups "1" and "2", stream 20) beside the
backward computation of the layers before it (stream 7). The step ends with a norm of all ranks (group "0") and the optimizer.
"""

import json
import pathlib
import sys

COMP, SEND, RECV, COLL, METADATA = 4, 5, 6, 7, 1
ALL_REDUCE = 0
COMPUTE, COMMUNICATE = 7, 20  # streams
LAYERS = 3
ACTIVATIONS, GRADIENTS = 256 * 1024, 1024 * 1024  # bytes
FORWARD, BACKWARD, OPTIMIZER = 60, 120, 30  # microseconds


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field, value):
    return block(field, value.encode())


def attribute(name, value):
    if isinstance(value, bool):
        return block(10, text(1, name) + number(27, value))
    if isinstance(value, int):
        return block(10, text(1, name) + number(9, value))
    return block(10, text(1, name) + text(29, value))


class Rank:
    """The file of a rank."""

    def __init__(self):
        self.messages = [text(1, "0.0.4")]
        self.next = 1

    def node(self, name, kind, deps=(), micros=0, inputs=None, **attributes):
        """Adds a node and returns its id. deps: the nodes that it waits for."""
        node = number(1, self.next) + text(2, name) + number(3, kind)
        node += block(5, b"".join(varint(dep) for dep in deps)) if deps else b""
        node += number(7, micros) if micros else b""
        node += block(8, text(1, inputs)) if inputs else b""
        node += b"".join(attribute(*item) for item in attributes.items())
        self.messages.append(node)
        self.next += 1
        return self.next - 1

    def kernel(self, name, micros, deps):
        return self.node(name, COMP, deps, micros, is_cpu_op=False, stream=COMPUTE)

    def message(self, name, kind, deps, **peer):
        size = {"comm_size": ACTIVATIONS, "comm_tag": 1}
        return self.node(name, kind, deps, is_cpu_op=False, **size, **peer)

    def all_reduce(self, name, size, group, deps):
        comm = {"comm_type": ALL_REDUCE, "comm_size": size, "pg_name": group}
        return self.node(name, COLL, deps, is_cpu_op=False, stream=COMMUNICATE, **comm)


def rank(me):
    file, stage = Rank(), me // 4
    groups = [
        {"pg_name": "0", "ranks": list(range(8))},
        {"pg_name": str(stage + 1), "ranks": list(range(4 * stage, 4 * stage + 4))},
    ]
    init = "## process_group:init ##"
    # As the converter writes it: a list of Python with one text.
    last = file.node(init, METADATA, inputs="['" + json.dumps(groups) + "']")
    last = file.node("launch", COMP, [last], 5, is_cpu_op=True)
    if stage == 1:
        last = file.message("activations", RECV, [last], comm_src=me - 4)
    for layer in range(LAYERS):
        last = file.kernel(f"forward {layer}", FORWARD, [last])
    if stage == 0:
        file.message("activations", SEND, [last], comm_dst=me + 4)
        last = file.message("gradients", RECV, [last], comm_src=me + 4)
    reduced = []
    for layer in reversed(range(LAYERS)):
        last = file.kernel(f"backward {layer}", BACKWARD, [last])
        reduced.append(file.all_reduce(f"gradients {layer}", GRADIENTS, str(stage + 1), [last]))
    if stage == 1:
        file.message("gradients", SEND, [last], comm_dst=me - 4)
    norm = file.all_reduce("norm", 8, "0", reduced)
    file.kernel("optimizer", OPTIMIZER, [norm])
    return b"".join(varint(len(message)) + message for message in file.messages)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    for me in range(8):
        (folder / f"pipeline.{me}.et").write_bytes(rank(me))


main()
