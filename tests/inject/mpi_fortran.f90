! SPDX-License-Identifier: Apache-2.0
! mpi_fortran.f90 - what Fortran programs call; with -DF08 through mpi_f08, else through mpif.h.  Two ranks.
program calls
#ifdef F08
  use mpi_f08
#else
  include 'mpif.h'
#endif
  integer :: ierr, rank, buf(16), total
#ifdef F08
  type(MPI_Status) :: status
  type(MPI_Request) :: req
  type(MPI_Comm) :: comm
  type(MPI_File) :: file
#else
  integer :: status(MPI_STATUS_SIZE), req, comm, file
#endif
  character(len=256) :: folder
  call get_command_argument(1, folder)
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  buf = rank
  if (rank == 0) then
     call MPI_SEND(buf, 16, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, ierr)
     call MPI_SEND(buf, 8, MPI_INTEGER, 1, 6, MPI_COMM_WORLD, ierr)
     call MPI_ISEND(buf, 4, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, req, ierr)
     call MPI_WAIT(req, MPI_STATUS_IGNORE, ierr)
  else if (rank == 1) then
     call MPI_RECV(buf, 16, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, status, ierr)
     call MPI_RECV(buf, 16, MPI_INTEGER, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
     call MPI_IRECV(buf, 16, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, req, ierr)
     call MPI_WAIT(req, status, ierr)
  end if
  call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buf, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, ierr)
  call MPI_BARRIER(comm, ierr)
  call MPI_FILE_OPEN(comm, trim(folder)//'/fortran.data', MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, ierr)
  call MPI_FILE_WRITE_ALL(file, buf, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_FILE_CLOSE(file, ierr)
  call MPI_COMM_FREE(comm, ierr)
  print *, 'total', total
  call MPI_FINALIZE(ierr)
end program
