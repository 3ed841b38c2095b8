/* Collectives, for one width of counts: included twice, with COUNT, SHIFT (of displacements) and NAME. */

static void NAME(put_counts)(struct fw_stream *s, const void *buf, int n, const COUNT *counts, MPI_Datatype type)
{
    struct fw_seq q;
    if (buf == MPI_IN_PLACE) {
        fw_put(&s->tuple, 1);
        return;
    }
    fw_put(&s->tuple, 3);
    fw_put(&s->tuple, fw_size(type));
    fw_seq_begin(&q, &s->runs);
    for (int i = 0; i < n; i++)
        fw_seq_add(&q, counts[i]);
    fw_seq_end(&q, &s->tuple);
}

static void NAME(put_bytes)(struct fw_stream *s, const void *buf, int n, const COUNT *counts, const MPI_Datatype *types)
{
    struct fw_seq q;
    if (buf == MPI_IN_PLACE) {
        fw_put(&s->tuple, 1);
        return;
    }
    fw_put(&s->tuple, 4);
    fw_seq_begin(&q, &s->runs);
    for (int i = 0; i < n; i++)
        fw_seq_add(&q, counts[i] ? (int64_t)counts[i] * (int64_t)fw_size(types[i]) : 0);
    fw_seq_end(&q, &s->tuple);
}

ALL_THREE(Bcast, Ibcast)
ALL_THREE(Gather, Igather)
ALL_THREE(Gatherv, Igatherv)
ALL_THREE(Scatter, Iscatter)
ALL_THREE(Scatterv, Iscatterv)
ALL_THREE(Allgather, Iallgather)
ALL_THREE(Allgatherv, Iallgatherv)
ALL_THREE(Alltoall, Ialltoall)
ALL_THREE(Alltoallv, Ialltoallv)
ALL_THREE(Alltoallw, Ialltoallw)
ALL_THREE(Reduce, Ireduce)
ALL_THREE(Allreduce, Iallreduce)
ALL_THREE(Reduce_scatter, Ireduce_scatter)
ALL_THREE(Reduce_scatter_block, Ireduce_scatter_block)
ALL_THREE(Scan, Iscan)
ALL_THREE(Exscan, Iexscan)
ALL_THREE(Neighbor_allgather, Ineighbor_allgather)
ALL_THREE(Neighbor_allgatherv, Ineighbor_allgatherv)
ALL_THREE(Neighbor_alltoall, Ineighbor_alltoall)
ALL_THREE(Neighbor_alltoallv, Ineighbor_alltoallv)
ALL_THREE(Neighbor_alltoallw, Ineighbor_alltoallw)
