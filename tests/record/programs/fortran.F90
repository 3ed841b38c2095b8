! The three interfaces of Fortran: F08, MODULE_MPI or neither (mpif.h) is defined.
program fortran
#ifdef F08
  use mpi_f08
#endif
#ifdef MODULE_MPI
  use mpi
#endif
  implicit none
#ifdef F08
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Comm) :: half
  type(MPI_Datatype) :: column
#else
#ifndef MODULE_MPI
  include 'mpif.h'
#endif
  integer :: requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), half, column
#endif
  integer :: rank, ranks, next, before, ierr, source
  logical :: flag
  double precision :: a(100), b(100)
  character(len=1000) :: folder, line
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable('KNOWN', folder)
  write (line, '(a,a,i0)') trim(folder), '/', rank
  open (7, file=trim(line))
  write (7, '(a)') 'MPI_Init level=0'
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  a = rank
  b = 0

  call MPI_Irecv(b, 100, MPI_DOUBLE_PRECISION, before, 1, MPI_COMM_WORLD, requests(1), ierr)
  write (7, '(a,i0,a)') 'MPI_Irecv comm=0 peer=', before, ' tag=1 100*8 -> 0:0'
  call MPI_Isend(a, 10 + rank, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(2), ierr)
  write (7, '(a,i0,a,i0,a)') 'MPI_Isend comm=0 peer=', next, ' tag=1 ', 10 + rank, '*8 -> 0:1'
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  write (7, '(a,i0,a)') 'MPI_Waitall of 2: 0:0got(bytes=', 8*(10 + before), ') 0:1got()'

  call MPI_Sendrecv(a, 3, MPI_INTEGER, next, 2, b, 4, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, ierr)
#ifdef F08
  source = status%MPI_SOURCE
#else
  source = status(MPI_SOURCE)
#endif
  if (source /= before) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  write (7, '(a,i0,a,i0,a)') 'MPI_Sendrecv comm=0 peer=', next, ' tag=2 3*4 peer=any tag=2 4*4 got(peer=', before, ' bytes=12)'

  call MPI_Allreduce(MPI_IN_PLACE, a, 5, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  write (7, '(a)') 'MPI_Allreduce comm=0 root=null commutative in-place 5*8'
  call MPI_Bcast(a, 7, MPI_REAL, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    write (7, '(a)') 'MPI_Bcast comm=0 root=0 7*4 -'
  else
    write (7, '(a)') 'MPI_Bcast comm=0 root=0 - 7*4'
  end if

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
  write (7, '(a)') 'MPI_Comm_split comm=0 new=2'
  call MPI_Barrier(half, ierr)
  write (7, '(a)') 'MPI_Barrier comm=2 root=null - -'

  call MPI_Type_vector(4, 1, 10, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Recv_init(b, 4, MPI_DOUBLE_PRECISION, before, 3, MPI_COMM_WORLD, requests(1), ierr)
  write (7, '(a,i0,a)') 'MPI_Recv_init comm=0 peer=', before, ' tag=3 4*8 -> 0:2'
  call MPI_Send_init(a, 1, column, next, 3, MPI_COMM_WORLD, requests(2), ierr)
  write (7, '(a,i0,a)') 'MPI_Send_init comm=0 peer=', next, ' tag=3 1*32 -> 0:3'
  call MPI_Startall(2, requests, ierr)
  write (7, '(a)') 'MPI_Startall 0:2 0:3'
  ! Not MPI_Testsome, whose indices begin with 0 in the mpi_f08 of MPICH 4.0.
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses, ierr)
  end do
  write (7, '(a)') 'MPI_Testall of 2: 0:2got() 0:3got()'
  call MPI_Request_free(requests(1), ierr)
  write (7, '(a)') 'MPI_Request_free 0:2'
  call MPI_Request_free(requests(2), ierr)
  write (7, '(a)') 'MPI_Request_free 0:3'
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, half, flag, MPI_STATUS_IGNORE, ierr)
  write (7, '(a)') 'MPI_Iprobe comm=2 peer=any tag=any nothing'
  call MPI_Send(a, 0, MPI_INTEGER, MPI_PROC_NULL, 0, half, ierr)
  write (7, '(a)') 'MPI_Send comm=2 peer=null tag=0 0*4'
  call MPI_Pcontrol(3)
  write (7, '(a)') 'MPI_Pcontrol 3'
  write (7, '(a)') 'MPI_Finalize'
  close (7)
  call MPI_Finalize(ierr)
end program
