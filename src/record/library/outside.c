/* Functions that cannot be replayed: only their names and times are recorded. The list is made from the site's mpi.h. */
#include "record.h"

#define OUTSIDE(symbol, params, args) FW_CALL(symbol, #symbol, params, args, , )

#include "outside.h"
