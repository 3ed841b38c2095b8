#!/usr/bin/env python3
"""Writes the OTF2 archives of this folder with the library of OTF2 (`pip install otf2`, 3.2).

    write.py DIR             the archives of this folder, into DIR
    write.py DIR large N     a ring of 16 ranks with N events or more
"""
import contextlib
import os
import sys

import _otf2
import otf2
from otf2.enums import (
    CollectiveOp as Op, CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType,
    MappingType, MeasurementMode, Paradigm, RegionRole,
)

NO_ROOT = 0xFFFFFFFF
BETWEEN = 90
NO_MESSAGE = 0xFFFFFFFFFFFFFFFF


class Rank:
    """The events of a rank. Each event takes a microsecond of its clock."""

    def __init__(self, archive, writer, number):
        self.archive, self.writer, self.number = archive, writer, number
        self.now = 1_000_000 + 1000 * number

    def event(self, kind, *args, **kwargs):
        self.now += 1000
        getattr(self.writer, kind)(self.now, *args, **kwargs)

    @contextlib.contextmanager
    def call(self, name):
        region = self.archive.region(name)
        self.event("enter", region)
        yield self
        self.event("leave", region)

    def compute(self, ns):
        self.now += ns

    def collective(self, name, op, comm, sent, received, root=NO_ROOT):
        with self.call(name):
            self.event("mpi_collective_begin")
            self.event("mpi_collective_end", op, comm, root, sent, received)


class Between:
    _ref = BETWEEN


class Archive:
    def __init__(self, path, ranks, creator="Score-P 8.4", threads=0):
        self.trace = otf2.writer.Writer(path, timer_resolution=1_000_000_000)
        _otf2.Archive_SetCreator(self.trace._handle, creator)
        self.defs = self.trace.definitions
        self.regions = {}
        node = self.defs.system_tree_node("node", parent=None, class_name="machine")
        self.locations, self.threads = [], []
        for rank in range(ranks):
            group = self.defs.location_group(
                f"MPI Rank {rank}", system_tree_parent=node, location_group_type=LocationGroupType.PROCESS)
            self.locations.append(self.defs.location("Master thread", group=group, type=LocationType.CPU_THREAD))
            if rank < threads:
                self.threads.append(self.defs.location("OMP thread 1", group=group, type=LocationType.CPU_THREAD))
        self.world_group = self.defs.group(
            "", GroupType.COMM_LOCATIONS, Paradigm.MPI, GroupFlag.NONE, tuple(self.locations))
        self.world = self.comm("MPI_COMM_WORLD", range(ranks), flags=GroupFlag.GLOBAL_MEMBERS)
        self.ranks = [Rank(self, self.trace.event_writer_from_location(l), i) for i, l in enumerate(self.locations)]

    def group(self, ranks, flags=GroupFlag.NONE):
        members = tuple(self.locations[rank] for rank in ranks)
        return self.defs.group("", GroupType.COMM_GROUP, Paradigm.MPI, flags, members)

    def comm(self, name, ranks, flags=GroupFlag.NONE, created=False):
        flag = CommFlag.CREATE_DESTROY_EVENTS if created else CommFlag.NONE
        return self.defs.comm(name, self.group(ranks, flags), None, flag)

    def between(self, name, first, second):
        """A communicator between two groups, which `definitions` of the bindings can't write."""
        groups, name = (self.group(first), self.group(second)), self.defs.strings.get(name)
        write = self.defs.write

        def write_all(writer):
            write(writer)
            _otf2.GlobalDefWriter_WriteInterComm(
                writer.handle, BETWEEN, name._ref, groups[0]._ref, groups[1]._ref, self.world._ref, CommFlag.NONE)

        self.defs.write = write_all
        return Between()

    def region(self, name):
        if name not in self.regions:
            mpi = name.startswith("MPI_")
            self.regions[name] = self.defs.region(
                name, region_role=RegionRole.FUNCTION, paradigm=Paradigm.MPI if mpi else Paradigm.COMPILER)
        return self.regions[name]

    def close(self):
        self.trace.close()


def exchange(a, b, world, size, tag):
    """Both ranks send each other a message without blocking."""
    for me, other in (a, b), (b, a):
        with me.call("MPI_Irecv"):
            me.event("mpi_irecv_request", 2 * tag)
        with me.call("MPI_Isend"):
            me.event("mpi_isend", other.number, world, tag, size, 2 * tag + 1)
    for me, other in (a, b), (b, a):
        me.compute(5000)
        with me.call("MPI_Waitall"):
            me.event("mpi_irecv", other.number, world, tag, size, 2 * tag)
            me.event("mpi_isend_complete", 2 * tag + 1)


def stencil(path):
    """Eight ranks exchange halos round a ring and reduce, three times, as Score-P records it."""
    archive = Archive(path, 8)
    ranks, world = archive.ranks, archive.world
    for rank in ranks:
        rank.event("enter", archive.region("main"))
        with rank.call("MPI_Init"):
            pass
    for step in range(3):
        for rank in ranks:
            rank.event("enter", archive.region("relax"))
            rank.compute(100_000 + 1000 * rank.number)
            rank.event("leave", archive.region("relax"))
        for i in range(8):
            exchange(ranks[i], ranks[(i + 1) % 8], world, 4096 + i, 10 * step + i)
        for rank in ranks:
            rank.collective("MPI_Allreduce", Op.ALLREDUCE, world, 8 * 8, 8 * 8)
    for rank in ranks:
        with rank.call("MPI_Finalize"):
            pass
        rank.event("leave", archive.region("main"))
    archive.close()


# Sizes of the blocks of each of four ranks, in bytes.
BLOCKS = (100, 0, 300, 24)


def collectives(archive, ranks, comm):
    """All collectives of four ranks, with the sums that Score-P counts."""
    n, total = 4, sum(BLOCKS)
    for me, rank in enumerate(ranks):
        root = me == 2
        own = BLOCKS[me]
        rank.collective("MPI_Barrier", Op.BARRIER, comm, 0, 0)
        rank.collective("MPI_Bcast", Op.BCAST, comm, n * 1000 if root else 0, 1000, 2)
        rank.collective("MPI_Reduce", Op.REDUCE, comm, 800, n * 800 if root else 0, 2)
        rank.collective("MPI_Gather", Op.GATHER, comm, 0 if root else 64, (n - 1) * 64 if root else 0, 2)
        rank.collective("MPI_Gatherv", Op.GATHERV, comm, own, total if root else 0, 2)
        rank.collective("MPI_Scatter", Op.SCATTER, comm, n * 48 if root else 0, 48, 2)
        rank.collective("MPI_Scatterv", Op.SCATTERV, comm, total if root else 0, own, 2)
        rank.collective("MPI_Allgather", Op.ALLGATHER, comm, n * 128, n * 128)
        rank.collective("MPI_Allgatherv", Op.ALLGATHERV, comm, n * own, total)
        rank.collective("MPI_Alltoall", Op.ALLTOALL, comm, n * 256, n * 256)
        rank.collective("MPI_Alltoallv", Op.ALLTOALLV, comm, 4 * own, total)
        rank.collective("MPI_Allreduce", Op.ALLREDUCE, comm, (n - 1) * 40, (n - 1) * 40)
        rank.collective("MPI_Reduce_scatter", Op.REDUCE_SCATTER, comm, total, n * own)
        rank.collective("MPI_Reduce_scatter_block", Op.REDUCE_SCATTER_BLOCK, comm, n * 16, n * 16)
        rank.collective("MPI_Scan", Op.SCAN, comm, (n - me) * 24, (me + 1) * 24)
        rank.collective("MPI_Exscan", Op.EXSCAN, comm, (n - me - 1) * 32, me * 32)


def calls(path):
    """Four ranks with every kind of event that a replay knows, and some that it skips; local numbers and clocks."""
    archive = Archive(path, 4, threads=1)
    ranks, world = archive.ranks, archive.world
    a, b, c, d = ranks
    own = archive.defs.comm("MPI_COMM_SELF", archive.defs.group("", GroupType.COMM_SELF, Paradigm.MPI, GroupFlag.NONE, ()))
    odd = archive.comm("odd ranks", [3, 1], created=True)
    between = archive.between("between", [0, 2], [1, 3])
    # Numbers of regions and communicators of the first rank are others than the archive's.
    for name in "main", "MPI_Send", "MPI_Ssend":
        archive.region(name)

    for rank in ranks:
        with rank.call("MPI_Init"):
            pass
        rank.compute(2000)
    a.writer(otf2.events.Enter(a.now + 1, archive.region("main"), attributes={
        archive.defs.attribute("line", "line of the call", otf2.Type.UINT32): 77}))
    a.event("omp_fork", 2)
    a.event("omp_task_create", 1 << 40)
    a.event("omp_join")
    a.event("program_begin", "app", ["x" * 300, "y"])
    a.event("buffer_flush", a.now + 5000)
    a.compute(5000)
    a.event("leave", archive.region("main"))

    with a.call("MPI_Send"):
        a.event("mpi_send", 1, world, 7, 5000)
    with b.call("MPI_Recv"):
        b.event("mpi_recv", 0, world, 7, 5000)
    with c.call("MPI_Ssend"):
        c.event("mpi_send", 3, world, 8, 70_000)
    with d.call("MPI_Recv"):
        d.event("mpi_recv", 2, world, 8, 70_000)
    for me, other in (a, c), (c, a):
        with me.call("MPI_Sendrecv"):
            me.event("mpi_send", other.number, world, 9, 200)
            me.event("mpi_recv", other.number, world, 9, 200)
    with a.call("MPI_Sendrecv"):
        a.event("mpi_send", 0, own, 3, 11)
        a.event("mpi_recv", 0, own, 3, 11)
    exchange(b, d, world, 1 << 20, 5)

    # A receive that is tested, one that is cancelled, and a message that is looked for.
    with b.call("MPI_Irecv"):
        b.event("mpi_irecv_request", 100)
    with b.call("MPI_Irecv"):
        b.event("mpi_irecv_request", 101)
    with b.call("MPI_Test"):
        b.event("mpi_request_test", 100)
    b.compute(500)
    with b.call("MPI_Cancel"):
        b.event("mpi_request_cancelled", 101)
    with a.call("MPI_Bsend"):
        a.event("mpi_send", 1, world, 6, 17)
    with b.call("MPI_Test"):
        b.event("mpi_irecv", 0, world, 6, 17, 100)
    for tag, size in (4, 33), (4, 34), (5, 35):
        with c.call("MPI_Send"):
            c.event("mpi_send", 0, world, tag, size)
    with a.call("MPI_Probe"):
        a.event("mpi_probe", 2, world, 4, NO_MESSAGE)
    with a.call("MPI_Recv"):
        a.event("mpi_recv", 2, world, 4, 33)
    with a.call("MPI_Mprobe"):
        a.event("mpi_probe", 2, world, 4, 900)
    with a.call("MPI_Mrecv"):
        a.event("mpi_mrecv", 900, 34)
    with a.call("MPI_Mprobe"):
        a.event("mpi_probe", 2, world, 5, 901)
    with a.call("MPI_Imrecv"):
        a.event("mpi_imrecv_request", 901, 300)
    with a.call("MPI_Wait"):
        a.event("mpi_imrecv", 300, 35)

    # Communicators: ranks 1 and 3 in another order, and two groups.
    for rank in b, d:
        with rank.call("MPI_Comm_create_group"):
            rank.event("mpi_collective_begin")
            rank.event("comm_create", odd)
            rank.event("mpi_collective_end", Op.CREATE_HANDLE, odd, NO_ROOT, 0, 0)
    with d.call("MPI_Send"):
        d.event("mpi_send", 1, odd, 1, 321)
    with b.call("MPI_Recv"):
        b.event("mpi_recv", 0, odd, 1, 321)
    for rank in b, d:
        rank.collective("MPI_Bcast", Op.BCAST, odd, 2 * 77 if rank is d else 0, 77, 0)
    with a.call("MPI_Send"):
        a.event("mpi_send", 1, between, 2, 654)
    with d.call("MPI_Recv"):
        d.event("mpi_recv", 0, between, 2, 654)
    for rank in ranks:
        rank.collective("MPI_Allgather", Op.ALLGATHER, between, 2 * 12, 2 * 12)
    for rank in b, d:
        with rank.call("MPI_Comm_free"):
            rank.event("mpi_collective_begin")
            rank.event("comm_destroy", odd)
            rank.event("mpi_collective_end", Op.DESTROY_HANDLE, odd, NO_ROOT, 0, 0)

    collectives(archive, ranks, world)
    for rank in ranks:
        with rank.call("MPI_Iallreduce"):
            rank.event("non_blocking_collective_request", 500)
        rank.collective("MPI_Barrier", Op.BARRIER, world, 0, 0)
        rank.compute(3000)
        with rank.call("MPI_Wait"):
            rank.event("non_blocking_collective_complete", Op.ALLREDUCE, world, NO_ROOT, 4 * 80, 4 * 80, 500)
        with rank.call("MPI_Finalize"):
            pass
    thread = archive.trace.event_writer_from_location(archive.threads[0])
    thread.enter(1_500_000, archive.region("main"))
    thread.leave(2_500_000, archive.region("main"))
    clocks(archive)
    archive.close()


def clocks(archive):
    """The clock of rank 1 is late and slow; rank 2 has numbers of its own, which mean the same ones."""
    late = archive.ranks[1].writer._def_handle
    for time, offset in (1_000_000, 2_000_000), (1_100_000, 2_001_000), (1_400_000, 2_001_000):
        _otf2.DefWriter_WriteClockOffset(late, time, offset, 0.5)
    maps = archive.ranks[2].writer._def_handle
    count = len(archive.defs.regions)
    same = _otf2.IdMap_CreateFromUint64Array(list(range(count)), False)
    _otf2.DefWriter_WriteMappingTable(maps, MappingType.REGION, same)
    sparse = _otf2.IdMap_Create(_otf2.ID_MAP_SPARSE, 2)
    _otf2.IdMap_AddIdPair(sparse, 0, 0)
    _otf2.IdMap_AddIdPair(sparse, 3, 3)
    _otf2.DefWriter_WriteMappingTable(maps, MappingType.COMM, sparse)


def mapped(path):
    """Two ranks whose numbers of regions and communicators are not the archive's: those of a second world."""
    archive = Archive(path, 2)
    world = archive.comm("the other world", [1, 0])
    for name in "MPI_Init", "MPI_Recv", "MPI_Send", "MPI_Finalize":
        archive.region(name)
    # Rank 1 calls region 1 what is region 2 of the archive, and the other way round, and 0 what is communicator 1.
    a, b = archive.ranks
    with a.call("MPI_Send"):
        a.event("mpi_send", 0, world, 1, 99)
    with b.call("MPI_Send"):
        b.event("mpi_recv", 1, archive.world, 1, 99)
    maps = b.writer._def_handle
    _otf2.DefWriter_WriteMappingTable(
        maps, MappingType.REGION, _otf2.IdMap_CreateFromUint64Array([0, 2, 1, 3], False))
    _otf2.DefWriter_WriteMappingTable(maps, MappingType.COMM, _otf2.IdMap_CreateFromUint64Array([1, 0], False))
    archive.close()


def lost(path):
    """Two ranks whose recorder lost the completion of a receive and the end of a collective."""
    archive = Archive(path, 2, creator="EZTrace")
    a, b = archive.ranks
    for rank in archive.ranks:
        with rank.call("MPI_Init"):
            pass
    with a.call("MPI_Isend"):
        a.event("mpi_isend", 1, archive.world, 0, 1024, 1)
    with b.call("MPI_Irecv"):
        b.event("mpi_irecv_request", 1)
    with a.call("MPI_Wait"):
        a.event("mpi_isend_complete", 1)
    with b.call("MPI_Wait"):
        pass
    with a.call("MPI_Barrier"):
        a.event("mpi_collective_begin")
        a.event("mpi_collective_end", Op.BARRIER, archive.world, NO_ROOT, 0, 0)
    with b.call("MPI_Barrier"):
        b.event("mpi_collective_begin")
    archive.close()


def regions(path):
    """Two ranks in regions within regions; one polls in a region of its own, and one ends within its first region."""
    archive = Archive(path, 2)
    a, b = archive.ranks
    world = archive.world

    def barrier(rank):
        rank.collective("MPI_Barrier", Op.BARRIER, world, 0, 0)

    for rank in archive.ranks:
        rank.event("enter", archive.region("main"))
        with rank.call("MPI_Init"):
            pass
        with rank.call("init"):
            rank.compute(9000)
            barrier(rank)
            rank.compute(4000)
    with a.call("solve"):
        for size, ns in (5000, 20_000), (6000, 10_000):
            with a.call("dot"):
                a.compute(ns)
            with a.call("MPI_Send"):
                a.event("mpi_send", 1, world, 1, size)
        barrier(a)
        a.compute(7000)
    with b.call("solve"):
        with b.call("MPI_Irecv"):
            b.event("mpi_irecv_request", 1)
        with b.call("MPI_Test"):
            b.event("mpi_request_test", 1)
        with b.call("progress"):
            with b.call("MPI_Test"):
                b.event("mpi_request_test", 1)
        with b.call("MPI_Test"):
            b.event("mpi_irecv", 0, world, 1, 5000, 1)
        with b.call("MPI_Recv"):
            b.event("mpi_recv", 0, world, 1, 6000)
        barrier(b)
        b.compute(3000)
    for rank in archive.ranks:
        with rank.call("output"):
            barrier(rank)
            rank.compute(50_000)
        with rank.call("MPI_Finalize"):
            pass
    a.compute(1_000_000)
    a.event("leave", archive.region("main"))
    archive.close()


def large(path, events):
    """A ring of 16 ranks: each sends to the next and receives from the one before, without blocking."""
    archive = Archive(path, 16)
    for me, rank in enumerate(archive.ranks):
        names = {name: archive.region(name) for name in ("MPI_Irecv", "MPI_Isend", "MPI_Waitall")}
        for step in range(max(1, events // (16 * 10))):
            with rank.call("MPI_Irecv"):
                rank.event("mpi_irecv_request", 2 * step)
            with rank.call("MPI_Isend"):
                rank.event("mpi_isend", (me + 1) % 16, archive.world, step % 1000, 8 * (step % 5000), 2 * step + 1)
            rank.compute(20_000)
            with rank.call("MPI_Waitall"):
                rank.event("mpi_irecv", (me - 1) % 16, archive.world, step % 1000, 8 * (step % 5000), 2 * step)
                rank.event("mpi_isend_complete", 2 * step + 1)
    archive.close()


def main():
    into = sys.argv[1]
    if len(sys.argv) > 3:
        return large(os.path.join(into, "large"), int(sys.argv[3]))
    for write in stencil, calls, mapped, lost, regions:
        write(os.path.join(into, write.__name__))


main()
