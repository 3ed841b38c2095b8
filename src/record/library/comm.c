/* Communicators: ids by creation, members, neighbours. */
#include "record.h"

uint64_t fw_comm_epoch;
static struct fw_map comms;
static int ids;
static struct fw_comm *all; /* linked by `before` */
static MPI_Group world = MPI_GROUP_NULL;
static struct fw_call init = {"MPI_Init", -1};

static void put_group(struct fw_bytes *to, MPI_Group group)
{
    struct fw_bytes scratch = {0};
    struct fw_seq q;
    int n = 0, *ranks, *there;
    PMPI_Group_size(group, &n);
    ranks = malloc((size_t)(n + 1) * 2 * sizeof *ranks);
    if (!ranks)
        abort();
    there = ranks + n + 1;
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    if (n > 0)
        PMPI_Group_translate_ranks(group, n, ranks, world, there);
    fw_seq_begin(&q, &scratch);
    for (int i = 0; i < n; i++)
        fw_seq_add(&q, there[i] == MPI_UNDEFINED ? fw_ranks : there[i]);
    fw_seq_end(&q, to);
    free(scratch.at);
    free(ranks);
}

static void put_ranks(struct fw_bytes *to, int n, const int *ranks)
{
    struct fw_bytes scratch = {0};
    struct fw_seq q;
    fw_seq_begin(&q, &scratch);
    for (int i = 0; i < n; i++)
        fw_seq_add(&q, ranks[i] == MPI_PROC_NULL ? -1 : ranks[i]);
    fw_seq_end(&q, to);
    free(scratch.at);
}

/* The neighbours on a Cartesian grid: for each dimension the lower and the upper one. */
static int *grid(MPI_Comm comm, int *n)
{
    int dims = 0, *ranks;
    PMPI_Cartdim_get(comm, &dims);
    ranks = malloc((size_t)(2 * dims + 1) * sizeof *ranks);
    if (!ranks)
        abort();
    for (int d = 0; d < dims; d++)
        PMPI_Cart_shift(comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]);
    *n = 2 * dims;
    return ranks;
}

static void put_neighbours(struct fw_comm *c, MPI_Comm comm)
{
    int topology = MPI_UNDEFINED, in = 0, out = 0, weighted, rank, *ranks = NULL, *to;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        ranks = grid(comm, &in);
        put_ranks(&c->groups, in, ranks);
        put_ranks(&c->groups, in, ranks);
        out = in;
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &in);
        ranks = malloc((size_t)(in + 1) * sizeof *ranks);
        if (!ranks)
            abort();
        PMPI_Graph_neighbors(comm, rank, in, ranks);
        put_ranks(&c->groups, in, ranks);
        put_ranks(&c->groups, in, ranks);
        out = in;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        ranks = malloc((size_t)(in + out + 2) * 2 * sizeof *ranks);
        if (!ranks)
            abort();
        to = ranks + in + out + 2;
        PMPI_Dist_graph_neighbors(comm, in, ranks, to, out, ranks + in + 1, to + in + 1);
        put_ranks(&c->groups, in, ranks);
        put_ranks(&c->groups, out, ranks + in + 1);
    } else {
        return;
    }
    c->flags |= FW_TOPOLOGY;
    c->in = in;
    c->out = out;
    free(ranks);
}

static void describe(struct fw_comm *c, MPI_Comm comm)
{
    MPI_Group group;
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &c->rank);
    PMPI_Comm_size(comm, &c->members);
    c->size = c->members;
    PMPI_Comm_group(comm, &group);
    put_group(&c->groups, group);
    PMPI_Group_free(&group);
    if (inter) {
        c->flags |= FW_INTER;
        PMPI_Comm_remote_size(comm, &c->size);
        PMPI_Comm_remote_group(comm, &group);
        put_group(&c->groups, group);
        PMPI_Group_free(&group);
    } else {
        put_neighbours(c, comm);
    }
}

static struct fw_comm *add(MPI_Comm comm, struct fw_comm *parent, struct fw_call *maker)
{
    struct fw_comm *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->id = ids++;
    c->parent = parent ? parent->id : c->id;
    c->maker = maker;
    c->node.key = FW_KEY(comm);
    c->before = all;
    all = c;
    return c;
}

/* How many communicators were made in the same way by the same members. */
static int made_before(const struct fw_comm *c, int kind)
{
    int n = 0;
    for (const struct fw_comm *o = c->before; o; o = o->before)
        n += o->maker->name == c->maker->name && (kind == FW_BY_TWO || o->parent == c->parent) &&
             o->groups.len == c->groups.len && !memcmp(o->groups.at, c->groups.at, c->groups.len);
    return n;
}

static void insert(struct fw_comm *c)
{
    struct fw_node *old = fw_map_find(&comms, c->node.key);
    if (old)
        fw_map_remove(&comms, old);
    fw_map_add(&comms, &c->node);
    fw_comm_epoch++;
}

void fw_world(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm both[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; i < 2; i++) {
        struct fw_comm *c = add(both[i], NULL, &init);
        describe(c, both[i]);
        insert(c);
    }
}

struct fw_comm *fw_comm(struct fw_stream *s, MPI_Comm comm)
{
    uint64_t key = FW_KEY(comm);
    struct fw_comm *c;
    if (s->comm && s->comm_key == key && s->comm_epoch == __atomic_load_n(&fw_comm_epoch, __ATOMIC_RELAXED))
        return s->comm;
    pthread_mutex_lock(&fw_lock);
    c = (struct fw_comm *)fw_map_find(&comms, key);
    if (!c) {
        /* Made by a call that is not recorded. */
        static struct fw_call unknown = {"unknown", -1};
        c = add(comm, NULL, &unknown);
        describe(c, comm);
        insert(c);
    }
    s->comm = c;
    s->comm_key = key;
    s->comm_epoch = fw_comm_epoch;
    pthread_mutex_unlock(&fw_lock);
    return c;
}

static void put_id(struct fw_stream *s, struct fw_comm *c)
{
    while (s->defined.len <= (size_t)c->id)
        fw_append(&s->defined, "", 1);
    if (!s->defined.at[c->id]) {
        s->defined.at[c->id] = 1;
        fw_define_comm(s, c);
    }
    fw_put(&s->tuple, (uint64_t)c->id);
}

void fw_put_comm(struct fw_stream *s, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        fw_put(&s->tuple, 0);
        return;
    }
    put_id(s, fw_comm(s, comm));
}

void fw_made_comm(struct fw_stream *s, struct fw_call *call, MPI_Comm parent, MPI_Comm made, int kind)
{
    struct fw_comm *from = fw_comm(s, parent), *c;
    int nth;
    put_id(s, from);
    pthread_mutex_lock(&fw_lock);
    nth = kind == FW_BY_PARENT || kind == FW_PENDING ? from->children++ : 0;
    if (made == MPI_COMM_NULL) {
        pthread_mutex_unlock(&fw_lock);
        fw_put(&s->tuple, 0);
        return;
    }
    c = add(made, from, call);
    if (kind == FW_PENDING) {
        /* Its members are the parent's; it cannot be asked yet. */
        c->flags = from->flags;
        c->rank = from->rank;
        c->size = from->size;
        c->members = from->members;
        c->in = from->in;
        c->out = from->out;
        fw_append(&c->groups, from->groups.at, from->groups.len);
    } else {
        describe(c, made);
    }
    c->nth = kind == FW_BY_PARENT || kind == FW_PENDING ? nth : made_before(c, kind);
    insert(c);
    pthread_mutex_unlock(&fw_lock);
    put_id(s, c);
}

/* Out of the map before the call: then another one may have the handle. */
void fw_freed_comm(struct fw_stream *s, MPI_Comm comm)
{
    struct fw_node *old;
    s->freed = comm == MPI_COMM_NULL ? NULL : fw_comm(s, comm);
    pthread_mutex_lock(&fw_lock);
    old = s->freed ? fw_map_find(&comms, s->freed->node.key) : NULL;
    if (old)
        fw_map_remove(&comms, old);
    fw_comm_epoch++;
    pthread_mutex_unlock(&fw_lock);
}

void fw_put_freed(struct fw_stream *s)
{
    if (s->freed)
        put_id(s, s->freed);
    else
        fw_put(&s->tuple, 0);
}
