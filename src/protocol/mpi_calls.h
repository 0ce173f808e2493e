/* SPDX-License-Identifier: Apache-2.0
 * mpi_calls.h - the calls of MPI that are recorded (MPI 3.1): name, arguments and class, in one list for the door and the
 * reader.
 *
 * Calls of MPI 4.0 are recorded under these names too, where there are such (inject/mpi_large.c): l and e are n and N of
 * 64 bits.  A name that an older library does not have must not be in this list: mpi4py asks which there are.
 *
 * M(name in C, name in Fortran, number of arguments, class, what the arguments are): one letter for each argument.
 *
 *     b n t d g   what is sent: buffer, count, type, rank it goes to, tag
 *     B N T s G   what is received: buffer, count, type, rank it comes from, tag
 *     v y  V Y    arrays of counts and of types, sent and received                (with a member for each rank)
 *     c r         communicator, root                          w f    window, file
 *     C W H       a communicator, window, file that is made   Z E I  one that is given back
 *     q p z       a request that is made, that there is, that is given back; k Q: how many, and where they lie
 *     S A         where a status goes, many of them           F      where it is said whether something is over
 *     i o         where it is said which (or how many), and their indices
 *     m P x       a matched message, a path, anything else
 */
#ifndef HU_PROTOCOL_MPI_CALLS_H
#define HU_PROTOCOL_MPI_CALLS_H

/* clang-format off */
typedef enum {
    HU_MPI_CLASS_P2P, HU_MPI_CLASS_POST /* returns at once, something else waits */, HU_MPI_CLASS_INIT /* of a request */,
    HU_MPI_CLASS_WAIT, HU_MPI_CLASS_TEST, HU_MPI_CLASS_COLLECTIVE, HU_MPI_CLASS_COMM, HU_MPI_CLASS_RMA, HU_MPI_CLASS_FILE,
    HU_MPI_CLASS_START, HU_MPI_CLASS_END, HU_MPI_CLASS_ABORT, HU_MPI_CLASS_OTHER,
} hu_mpi_class;

#define HU_MPI_CALLS(M)                                                                                               \
    M(Send, send, 6, P2P, "bntdgc") M(Ssend, ssend, 6, P2P, "bntdgc") M(Bsend, bsend, 6, P2P, "bntdgc")               \
    M(Rsend, rsend, 6, P2P, "bntdgc") M(Recv, recv, 7, P2P, "BNTsgcS")                                                \
    M(Sendrecv, sendrecv, 12, P2P, "bntdgBNTsGcS") M(Sendrecv_replace, sendrecv_replace, 9, P2P, "bntdgsGcS")         \
    M(Mrecv, mrecv, 5, P2P, "BNTmS") M(Probe, probe, 4, P2P, "sgcS") M(Mprobe, mprobe, 5, P2P, "sgcmS")               \
    M(Isend, isend, 7, POST, "bntdgcq") M(Issend, issend, 7, POST, "bntdgcq") M(Ibsend, ibsend, 7, POST, "bntdgcq")   \
    M(Irsend, irsend, 7, POST, "bntdgcq") M(Irecv, irecv, 7, POST, "BNTsgcq") M(Imrecv, imrecv, 5, POST, "BNTmq")     \
    M(Send_init, send_init, 7, INIT, "bntdgcq") M(Ssend_init, ssend_init, 7, INIT, "bntdgcq")                         \
    M(Bsend_init, bsend_init, 7, INIT, "bntdgcq") M(Rsend_init, rsend_init, 7, INIT, "bntdgcq")                       \
    M(Recv_init, recv_init, 7, INIT, "BNTsgcq") M(Start, start, 1, POST, "p") M(Startall, startall, 2, POST, "kQ")    \
    M(Wait, wait, 2, WAIT, "pS") M(Waitall, waitall, 3, WAIT, "kQA") M(Waitany, waitany, 4, WAIT, "kQiS")             \
    M(Waitsome, waitsome, 5, WAIT, "kQioA") M(Test, test, 3, TEST, "pFS") M(Testall, testall, 4, TEST, "kQFA")        \
    M(Testany, testany, 5, TEST, "kQiFS") M(Testsome, testsome, 5, TEST, "kQioA")                                     \
    M(Iprobe, iprobe, 5, TEST, "sgcFS") M(Improbe, improbe, 6, TEST, "sgcFmS")                                        \
    M(Request_free, request_free, 1, OTHER, "z") M(Cancel, cancel, 1, OTHER, "p")                                     \
    M(Barrier, barrier, 1, COLLECTIVE, "c") M(Bcast, bcast, 5, COLLECTIVE, "Bntrc")                                   \
    M(Reduce, reduce, 7, COLLECTIVE, "bBntxrc") M(Allreduce, allreduce, 6, COLLECTIVE, "bBntxc")                      \
    M(Reduce_scatter, reduce_scatter, 6, COLLECTIVE, "bBvtxc")                                                        \
    M(Reduce_scatter_block, reduce_scatter_block, 6, COLLECTIVE, "bBntxc") M(Scan, scan, 6, COLLECTIVE, "bBntxc")     \
    M(Exscan, exscan, 6, COLLECTIVE, "bBntxc") M(Gather, gather, 8, COLLECTIVE, "bntBNTrc")                           \
    M(Gatherv, gatherv, 9, COLLECTIVE, "bntBVxTrc") M(Scatter, scatter, 8, COLLECTIVE, "bntBNTrc")                    \
    M(Scatterv, scatterv, 9, COLLECTIVE, "bvxtBNTrc") M(Allgather, allgather, 7, COLLECTIVE, "bntBNTc")               \
    M(Allgatherv, allgatherv, 8, COLLECTIVE, "bntBVxTc") M(Alltoall, alltoall, 7, COLLECTIVE, "bntBNTc")              \
    M(Alltoallv, alltoallv, 9, COLLECTIVE, "bvxtBVxTc") M(Alltoallw, alltoallw, 9, COLLECTIVE, "bvxyBVxYc")           \
    M(Neighbor_allgather, neighbor_allgather, 7, COLLECTIVE, "bntBNTc")                                               \
    M(Neighbor_allgatherv, neighbor_allgatherv, 8, COLLECTIVE, "bntBxxTc")                                            \
    M(Neighbor_alltoall, neighbor_alltoall, 7, COLLECTIVE, "bntBNTc")                                                 \
    M(Neighbor_alltoallv, neighbor_alltoallv, 9, COLLECTIVE, "bxxtBxxTc")                                             \
    M(Neighbor_alltoallw, neighbor_alltoallw, 9, COLLECTIVE, "bxxxBxxxc") M(Ibarrier, ibarrier, 2, POST, "cq")        \
    M(Ibcast, ibcast, 6, POST, "Bntrcq") M(Ireduce, ireduce, 8, POST, "bBntxrcq")                                     \
    M(Iallreduce, iallreduce, 7, POST, "bBntxcq") M(Ireduce_scatter, ireduce_scatter, 7, POST, "bBvtxcq")             \
    M(Ireduce_scatter_block, ireduce_scatter_block, 7, POST, "bBntxcq") M(Iscan, iscan, 7, POST, "bBntxcq")           \
    M(Iexscan, iexscan, 7, POST, "bBntxcq") M(Igather, igather, 9, POST, "bntBNTrcq")                                 \
    M(Igatherv, igatherv, 10, POST, "bntBVxTrcq") M(Iscatter, iscatter, 9, POST, "bntBNTrcq")                         \
    M(Iscatterv, iscatterv, 10, POST, "bvxtBNTrcq") M(Iallgather, iallgather, 8, POST, "bntBNTcq")                    \
    M(Iallgatherv, iallgatherv, 9, POST, "bntBVxTcq") M(Ialltoall, ialltoall, 8, POST, "bntBNTcq")                    \
    M(Ialltoallv, ialltoallv, 10, POST, "bvxtBVxTcq") M(Ialltoallw, ialltoallw, 10, POST, "bvxyBVxYcq")               \
    M(Ineighbor_allgather, ineighbor_allgather, 8, POST, "bntBNTcq")                                                  \
    M(Ineighbor_allgatherv, ineighbor_allgatherv, 9, POST, "bntBxxTcq")                                               \
    M(Ineighbor_alltoall, ineighbor_alltoall, 8, POST, "bntBNTcq")                                                    \
    M(Ineighbor_alltoallv, ineighbor_alltoallv, 10, POST, "bxxtBxxTcq")                                               \
    M(Ineighbor_alltoallw, ineighbor_alltoallw, 10, POST, "bxxxBxxxcq") M(Comm_dup, comm_dup, 2, COMM, "cC")          \
    M(Comm_dup_with_info, comm_dup_with_info, 3, COMM, "cxC") M(Comm_idup, comm_idup, 3, COMM, "cxq")                 \
    M(Comm_create, comm_create, 3, COMM, "cxC") M(Comm_create_group, comm_create_group, 4, COMM, "cxxC")              \
    M(Comm_split, comm_split, 4, COMM, "cxxC") M(Comm_split_type, comm_split_type, 5, COMM, "cxxxC")                  \
    M(Cart_create, cart_create, 6, COMM, "cxxxxC") M(Cart_sub, cart_sub, 3, COMM, "cxC")                              \
    M(Graph_create, graph_create, 6, COMM, "cxxxxC") M(Dist_graph_create, dist_graph_create, 9, COMM, "cxxxxxxxC")    \
    M(Dist_graph_create_adjacent, dist_graph_create_adjacent, 10, COMM, "cxxxxxxxxC")                                 \
    M(Intercomm_create, intercomm_create, 6, COMM, "cxxxxC") M(Intercomm_merge, intercomm_merge, 3, COMM, "cxC")      \
    M(Comm_spawn, comm_spawn, 8, COMM, "xxxxrcCx") M(Comm_accept, comm_accept, 5, COMM, "xxrcC")                      \
    M(Comm_connect, comm_connect, 5, COMM, "xxrcC") M(Comm_free, comm_free, 1, COMM, "Z")                             \
    M(Comm_disconnect, comm_disconnect, 1, COMM, "Z") M(Win_create, win_create, 6, RMA, "xxxxcW")                     \
    M(Win_allocate, win_allocate, 6, RMA, "xxxcxW") M(Win_allocate_shared, win_allocate_shared, 6, RMA, "xxxcxW")     \
    M(Win_create_dynamic, win_create_dynamic, 3, RMA, "xcW") M(Win_free, win_free, 1, RMA, "E")                       \
    M(Put, put, 8, RMA, "bntdxxxw") M(Get, get, 8, RMA, "BNTsxxxw") M(Accumulate, accumulate, 9, RMA, "bntdxxxxw")    \
    M(Get_accumulate, get_accumulate, 12, RMA, "xxxBNTdxxxxw") M(Fetch_and_op, fetch_and_op, 7, RMA, "xxxdxxw")       \
    M(Compare_and_swap, compare_and_swap, 7, RMA, "xxxxdxw") M(Rput, rput, 9, RMA, "bntdxxxwq")                       \
    M(Rget, rget, 9, RMA, "BNTsxxxwq") M(Raccumulate, raccumulate, 10, RMA, "bntdxxxxwq")                             \
    M(Win_fence, win_fence, 2, RMA, "xw") M(Win_lock, win_lock, 4, RMA, "xdxw")                                       \
    M(Win_unlock, win_unlock, 2, RMA, "dw") M(Win_lock_all, win_lock_all, 2, RMA, "xw")                               \
    M(Win_unlock_all, win_unlock_all, 1, RMA, "w") M(Win_flush, win_flush, 2, RMA, "dw")                              \
    M(Win_flush_all, win_flush_all, 1, RMA, "w") M(Win_flush_local, win_flush_local, 2, RMA, "dw")                    \
    M(Win_flush_local_all, win_flush_local_all, 1, RMA, "w") M(Win_sync, win_sync, 1, RMA, "w")                       \
    M(Win_start, win_start, 3, RMA, "xxw") M(Win_complete, win_complete, 1, RMA, "w")                                 \
    M(Win_post, win_post, 3, RMA, "xxw") M(Win_wait, win_wait, 1, RMA, "w")                                           \
    M(File_open, file_open, 5, FILE, "cPxxH") M(File_close, file_close, 1, FILE, "I")                                 \
    M(File_sync, file_sync, 1, FILE, "f") M(File_set_size, file_set_size, 2, FILE, "fx")                              \
    M(File_preallocate, file_preallocate, 2, FILE, "fx") M(File_set_view, file_set_view, 6, FILE, "fxxxxx")           \
    M(File_read, file_read, 5, FILE, "fBNTS") M(File_read_all, file_read_all, 5, FILE, "fBNTS")                       \
    M(File_read_at, file_read_at, 6, FILE, "fxBNTS") M(File_read_at_all, file_read_at_all, 6, FILE, "fxBNTS")         \
    M(File_read_shared, file_read_shared, 5, FILE, "fBNTS")                                                           \
    M(File_read_ordered, file_read_ordered, 5, FILE, "fBNTS") M(File_iread, file_iread, 5, FILE, "fBNTq")             \
    M(File_iread_all, file_iread_all, 5, FILE, "fBNTq") M(File_iread_at, file_iread_at, 6, FILE, "fxBNTq")            \
    M(File_iread_at_all, file_iread_at_all, 6, FILE, "fxBNTq")                                                        \
    M(File_iread_shared, file_iread_shared, 5, FILE, "fBNTq")                                                         \
    M(File_read_all_begin, file_read_all_begin, 4, FILE, "fBNT")                                                      \
    M(File_read_all_end, file_read_all_end, 3, FILE, "fxS")                                                           \
    M(File_read_at_all_begin, file_read_at_all_begin, 5, FILE, "fxBNT")                                               \
    M(File_read_at_all_end, file_read_at_all_end, 3, FILE, "fxS")                                                     \
    M(File_read_ordered_begin, file_read_ordered_begin, 4, FILE, "fBNT")                                              \
    M(File_read_ordered_end, file_read_ordered_end, 3, FILE, "fxS") M(File_write, file_write, 5, FILE, "fbntS")       \
    M(File_write_all, file_write_all, 5, FILE, "fbntS") M(File_write_at, file_write_at, 6, FILE, "fxbntS")            \
    M(File_write_at_all, file_write_at_all, 6, FILE, "fxbntS")                                                        \
    M(File_write_shared, file_write_shared, 5, FILE, "fbntS")                                                         \
    M(File_write_ordered, file_write_ordered, 5, FILE, "fbntS") M(File_iwrite, file_iwrite, 5, FILE, "fbntq")         \
    M(File_iwrite_all, file_iwrite_all, 5, FILE, "fbntq") M(File_iwrite_at, file_iwrite_at, 6, FILE, "fxbntq")        \
    M(File_iwrite_at_all, file_iwrite_at_all, 6, FILE, "fxbntq")                                                      \
    M(File_iwrite_shared, file_iwrite_shared, 5, FILE, "fbntq")                                                       \
    M(File_write_all_begin, file_write_all_begin, 4, FILE, "fbnt")                                                    \
    M(File_write_all_end, file_write_all_end, 3, FILE, "fxS")                                                         \
    M(File_write_at_all_begin, file_write_at_all_begin, 5, FILE, "fxbnt")                                             \
    M(File_write_at_all_end, file_write_at_all_end, 3, FILE, "fxS")                                                   \
    M(File_write_ordered_begin, file_write_ordered_begin, 4, FILE, "fbnt")                                            \
    M(File_write_ordered_end, file_write_ordered_end, 3, FILE, "fxS") M(Init, init, 2, START, "xx")                   \
    M(Init_thread, init_thread, 4, START, "xxxx") M(Finalize, finalize, 0, END, "") M(Abort, abort, 2, ABORT, "cx")
/* clang-format on */

typedef enum {
#define M(name, fortran, arity, class, arguments) HU_MPI_##name,
    HU_MPI_CALLS(M)
#undef M
        HU_MPI_CALL_COUNT
} hu_mpi_call;

/* What a block's head says of a thread that is inside of a call: this, and the call, and 1 (hu_block_head.call). */
enum { HU_INSIDE_MPI = 1 << 16 };

/* Room for the words of any call. */
enum { HU_MPI_ARGUMENTS_MAX = 12 };

#endif
