/* SPDX-License-Identifier: Apache-2.0
 * metrics_host.h - rows of metrics.h: what is sampled of the node beside its GPUs.
 *
 * Nouns are those of Prometheus's node_exporter where it has them.
 */
#ifndef HU_MONITOR_METRICS_HOST_H
#define HU_MONITOR_METRICS_HOST_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_HOST(M)                                                                                                  \
    /* The processors. */                                                                                                   \
    M(CPU_SECONDS, "holdup_host_cpu_seconds_total", COUNTER, "seconds", "mode",                                             \
      "CPU time of all processors, by what they did.")                                                                      \
    M(CPUS, "holdup_host_cpus", GAUGE, "", "", "Processors that are online.")                                               \
    M(LOAD1, "holdup_host_load1", GAUGE, "", "",                                                                            \
      "Threads that run, wait for a processor or sleep without being interruptible: average over 1 minute.")                \
    M(LOAD5, "holdup_host_load5", GAUGE, "", "", "The same over 5 minutes.")                                                \
    M(LOAD15, "holdup_host_load15", GAUGE, "", "", "The same over 15 minutes.")                                             \
    M(CONTEXT_SWITCHES, "holdup_host_context_switches_total", COUNTER, "", "", "Context switches of all processors.")       \
    M(PROCS_RUNNING, "holdup_host_procs_running", GAUGE, "", "",                                                            \
      "Threads that run or wait for a processor at this moment.")                                                           \
    M(PROCS_BLOCKED, "holdup_host_procs_blocked", GAUGE, "", "", "Threads that wait for a disk at this moment.")            \
    M(BOOT_TIME, "holdup_host_boot_time_seconds", GAUGE, "seconds", "", "Unix time when the node started.")                 \
    M(CPU_FREQUENCY, "holdup_host_cpu_frequency_hertz", GAUGE, "hertz", "",                                                 \
      "Mean clock of at most 16 processors, spread over the node.")                                                         \
    M(CPU_FREQUENCY_MAX, "holdup_host_cpu_frequency_max_hertz", GAUGE, "hertz", "",                                         \
      "Mean of the highest clocks that these processors can have.")                                                         \
    M(CPU_THROTTLES, "holdup_host_cpu_package_throttles_total", COUNTER, "", "package",                                     \
      "Times that a processor package was slowed down for its heat.")                                                       \
    M(CPU_TEMPERATURE, "holdup_host_cpu_temperature_celsius", GAUGE, "celsius", "chip,sensor",                              \
      "Temperature of a processor package.")                                                                                \
    M(CPU_ENERGY, "holdup_host_energy_joules_total", COUNTER, "joules", "zone",                                             \
      "Energy of a processor package or of memory, by the processor's own counters (RAPL).")                                \
    /* Memory. */                                                                                                           \
    M(MEMORY_TOTAL, "holdup_host_memory_total_bytes", GAUGE, "bytes", "", "Memory of the node.")                            \
    M(MEMORY_FREE, "holdup_host_memory_free_bytes", GAUGE, "bytes", "", "Memory that holds nothing.")                       \
    M(MEMORY_AVAILABLE, "holdup_host_memory_available_bytes", GAUGE, "bytes", "",                                           \
      "Memory that programs can get without swapping, by the kernel's estimate.")                                           \
    M(MEMORY_CACHED, "holdup_host_memory_cached_bytes", GAUGE, "bytes", "", "Page cache, shared memory included.")          \
    M(MEMORY_BUFFERS, "holdup_host_memory_buffers_bytes", GAUGE, "bytes", "", "Cache of block devices.")                    \
    M(MEMORY_SHARED, "holdup_host_memory_shared_bytes", GAUGE, "bytes", "",                                                 \
      "Shared memory and tmpfs, such as /dev/shm of data loaders.")                                                         \
    M(MEMORY_ANONYMOUS, "holdup_host_memory_anonymous_bytes", GAUGE, "bytes", "", "Heaps and stacks of programs.")          \
    M(MEMORY_DIRTY, "holdup_host_memory_dirty_bytes", GAUGE, "bytes", "",                                                   \
      "Written to files and not yet on its way to a disk.")                                                                 \
    M(MEMORY_WRITEBACK, "holdup_host_memory_writeback_bytes", GAUGE, "bytes", "", "On its way to a disk.")                  \
    M(MEMORY_UNEVICTABLE, "holdup_host_memory_unevictable_bytes", GAUGE, "bytes", "",                                       \
      "Memory that cannot be reclaimed, such as locked memory.")                                                            \
    M(MEMORY_SLAB, "holdup_host_memory_slab_unreclaimable_bytes", GAUGE, "bytes", "",                                       \
      "Memory of the kernel itself that cannot be reclaimed.")                                                              \
    M(SWAP_TOTAL, "holdup_host_swap_total_bytes", GAUGE, "bytes", "", "Swap space.")                                        \
    M(SWAP_FREE, "holdup_host_swap_free_bytes", GAUGE, "bytes", "", "Swap space that is not in use.")                       \
    M(HUGEPAGES_TOTAL, "holdup_host_hugepages_total_bytes", GAUGE, "bytes", "",                                             \
      "Memory that is set aside for huge pages of the default size.")                                                       \
    M(HUGEPAGES_FREE, "holdup_host_hugepages_free_bytes", GAUGE, "bytes", "", "The part of it that nobody uses.")           \
    M(OOM_KILLS, "holdup_host_oom_kills_total", COUNTER, "", "",                                                            \
      "Processes that the kernel killed because memory was short, on the node or in a control group.")                      \
    M(SWAPPED_IN, "holdup_host_swapped_in_bytes_total", COUNTER, "bytes", "", "Read back from swap space.")                 \
    M(SWAPPED_OUT, "holdup_host_swapped_out_bytes_total", COUNTER, "bytes", "", "Written to swap space.")                   \
    M(MAJOR_FAULTS, "holdup_host_major_page_faults_total", COUNTER, "", "", "Page faults that waited for a disk.")          \
    /* Pressure: the kernel's account of time lost to a shortage. */                                                        \
    M(PRESSURE_WAITING, "holdup_host_pressure_waiting_seconds_total", COUNTER, "seconds", "resource",                       \
      "Time in which at least one thread waited for the resource.")                                                         \
    M(PRESSURE_STALLED, "holdup_host_pressure_stalled_seconds_total", COUNTER, "seconds", "resource",                       \
      "Time in which all threads that had work waited for the resource.")                                                   \
    /* Disks and local file systems. */                                                                                     \
    M(DISK_READ, "holdup_host_disk_read_bytes_total", COUNTER, "bytes", "device", "Read from the disk.")                    \
    M(DISK_WRITTEN, "holdup_host_disk_written_bytes_total", COUNTER, "bytes", "device", "Written to the disk.")             \
    M(DISK_READS, "holdup_host_disk_reads_completed_total", COUNTER, "", "device", "Reads that the disk completed.")        \
    M(DISK_WRITES, "holdup_host_disk_writes_completed_total", COUNTER, "", "device", "Writes that the disk completed.")     \
    M(DISK_READ_TIME, "holdup_host_disk_read_time_seconds_total", COUNTER, "seconds", "device",                             \
      "Time that reads took, summed over reads.")                                                                           \
    M(DISK_WRITE_TIME, "holdup_host_disk_write_time_seconds_total", COUNTER, "seconds", "device",                           \
      "Time that writes took, summed over writes.")                                                                         \
    M(DISK_BUSY, "holdup_host_disk_io_time_seconds_total", COUNTER, "seconds", "device",                                    \
      "Time in which the disk had something to do.")                                                                        \
    M(FILESYSTEM_SIZE, "holdup_host_filesystem_size_bytes", GAUGE, "bytes", "device,mountpoint,fstype",                     \
      "Size of a local file system.")                                                                                       \
    M(FILESYSTEM_AVAILABLE, "holdup_host_filesystem_avail_bytes", GAUGE, "bytes", "device,mountpoint,fstype",               \
      "Space that users can fill.")                                                                                         \
    M(FILESYSTEM_FILES, "holdup_host_filesystem_files", GAUGE, "", "device,mountpoint,fstype",                              \
      "Files that it can hold (inodes).")                                                                                   \
    M(FILESYSTEM_FILES_FREE, "holdup_host_filesystem_files_free", GAUGE, "", "device,mountpoint,fstype",                    \
      "Files that can still be made.")                                                                                      \
    M(FILESYSTEM_READONLY, "holdup_host_filesystem_readonly", GAUGE, "", "device,mountpoint,fstype",                        \
      "1 if nothing can be written, for example after an error of the disk.")                                               \
    /* File systems of NFS servers, as this node sees them. */                                                              \
    M(NFS_READ, "holdup_host_nfs_read_bytes_total", COUNTER, "bytes", "device,mountpoint", "Read from the server.")         \
    M(NFS_WRITTEN, "holdup_host_nfs_write_bytes_total", COUNTER, "bytes", "device,mountpoint", "Written to the server.")    \
    M(NFS_OPERATIONS, "holdup_host_nfs_operations_total", COUNTER, "", "device,mountpoint,operation",                       \
      "Calls of the server: read, write, and all others (open, stat, lists).")                                              \
    M(NFS_TIME, "holdup_host_nfs_operation_seconds_total", COUNTER, "seconds", "device,mountpoint,operation",               \
      "Time that these calls took, summed over calls, waits for their turn included.")                                      \
    M(NFS_AGAIN, "holdup_host_nfs_retransmissions_total", COUNTER, "", "device,mountpoint",                                 \
      "Calls that were sent again because no answer came.")                                                                 \
    /* Networks. */                                                                                                         \
    M(NETWORK_RECEIVED, "holdup_host_network_receive_bytes_total", COUNTER, "bytes", "device",                              \
      "Received by a physical interface.")                                                                                  \
    M(NETWORK_SENT, "holdup_host_network_transmit_bytes_total", COUNTER, "bytes", "device", "Sent by it.")                  \
    M(NETWORK_RECEIVE_ERRORS, "holdup_host_network_receive_errs_total", COUNTER, "", "device",                              \
      "Packets that were received with errors.")                                                                            \
    M(NETWORK_SEND_ERRORS, "holdup_host_network_transmit_errs_total", COUNTER, "", "device",                                \
      "Packets that could not be sent.")                                                                                    \
    M(NETWORK_RECEIVE_DROPS, "holdup_host_network_receive_drop_total", COUNTER, "", "device",                               \
      "Packets that were received and dropped.")                                                                            \
    M(NETWORK_SEND_DROPS, "holdup_host_network_transmit_drop_total", COUNTER, "", "device",                                 \
      "Packets that were to be sent and were dropped.")                                                                     \
    M(NETWORK_UP, "holdup_host_network_up", GAUGE, "", "device", "1 if the interface is up (operstate).")                   \
    M(NETWORK_SPEED, "holdup_host_network_speed_bytes", GAUGE, "bytes", "device",                                           \
      "Speed of the link, in bytes per second.")                                                                            \
    M(TCP_SENT, "holdup_host_tcp_sent_segments_total", COUNTER, "", "",                                                     \
      "Segments that TCP sent, those sent again not included.")                                                             \
    M(TCP_SENT_AGAIN, "holdup_host_tcp_retransmitted_segments_total", COUNTER, "", "", "Segments that TCP sent again.")     \
    /* InfiniBand, RoCE and EFA. */                                                                                         \
    M(IB_INFO, "holdup_host_infiniband_info", INFO, "", "device,port,link_layer,board,firmware,pci_bus_id,netdev",          \
      "Identity of a port.")                                                                                                \
    M(IB_UP, "holdup_host_infiniband_up", GAUGE, "", "device,port", "1 if the port's state is ACTIVE.")                     \
    M(IB_RATE, "holdup_host_infiniband_rate_bytes", GAUGE, "bytes", "device,port",                                          \
      "Rate of the link, in bytes per second.")                                                                             \
    M(IB_RECEIVED, "holdup_host_infiniband_received_bytes_total", COUNTER, "bytes", "device,port",                          \
      "Received by the port.")                                                                                              \
    M(IB_SENT, "holdup_host_infiniband_transmitted_bytes_total", COUNTER, "bytes", "device,port", "Sent by the port.")      \
    M(IB_SEND_WAIT, "holdup_host_infiniband_transmit_wait_total", COUNTER, "", "device,port",                               \
      "Ticks of the port in which data had to wait, for example for credits of the other side.")                            \
    M(IB_ERRORS, "holdup_host_infiniband_errors_total", COUNTER, "", "device,port,error",                                   \
      "Errors of the link, by the driver's names.")                                                                         \
    M(IB_EVENTS, "holdup_host_infiniband_events_total", COUNTER, "", "device,port,event",                                   \
      "What the transport met: lost packets, timeouts, congestion, by the driver's names.")                                 \
    /* Control groups of jobs and pods; without labels: that of this program, where it limits something. */                 \
    M(CGROUP_CPU_LIMIT, "holdup_host_cgroup_cpu_limit_cpus", GAUGE, "", "scheduler,job_id,pod_uid",                         \
      "Processors that the group may use.")                                                                                 \
    M(CGROUP_CPU_SECONDS, "holdup_host_cgroup_cpu_seconds_total", COUNTER, "seconds", "scheduler,job_id,pod_uid",           \
      "CPU time of the group.")                                                                                             \
    M(CGROUP_PERIODS, "holdup_host_cgroup_cpu_periods_total", COUNTER, "", "scheduler,job_id,pod_uid",                      \
      "Periods of its limit in which it had something to run.")                                                             \
    M(CGROUP_THROTTLED, "holdup_host_cgroup_cpu_throttled_periods_total", COUNTER, "", "scheduler,job_id,pod_uid",          \
      "Periods in which it was stopped, its time being used up.")                                                           \
    M(CGROUP_THROTTLED_TIME, "holdup_host_cgroup_cpu_throttled_seconds_total", COUNTER, "seconds",                          \
      "scheduler,job_id,pod_uid", "Time for which it was stopped, summed over processors.")                                 \
    M(CGROUP_MEMORY, "holdup_host_cgroup_memory_usage_bytes", GAUGE, "bytes", "scheduler,job_id,pod_uid",                   \
      "Memory of the group, page cache included.")                                                                          \
    M(CGROUP_MEMORY_LIMIT, "holdup_host_cgroup_memory_limit_bytes", GAUGE, "bytes", "scheduler,job_id,pod_uid",             \
      "Memory that the group may use.")                                                                                     \
    M(CGROUP_MEMORY_FULL, "holdup_host_cgroup_memory_limit_hits_total", COUNTER, "", "scheduler,job_id,pod_uid",            \
      "Times that the group met its limit of memory.")                                                                      \
    M(CGROUP_MEMORY_HIGH, "holdup_host_cgroup_memory_high_total", COUNTER, "", "scheduler,job_id,pod_uid",                  \
      "Times that its threads were slowed down because memory was above memory.high.")                                      \
    M(CGROUP_OOM_KILLS, "holdup_host_cgroup_oom_kills_total", COUNTER, "", "scheduler,job_id,pod_uid",                      \
      "Processes of the group that the kernel killed because memory was short.")                                            \
    M(CGROUP_PIDS, "holdup_host_cgroup_pids", GAUGE, "", "scheduler,job_id,pod_uid", "Threads of the group.")               \
    M(CGROUP_PIDS_LIMIT, "holdup_host_cgroup_pids_limit", GAUGE, "", "scheduler,job_id,pod_uid",                            \
      "Threads that it may have.")                                                                                          \
    /* The clock, with which traces of several nodes are joined. */                                                         \
    M(CLOCK_SYNCHRONIZED, "holdup_host_clock_synchronized", GAUGE, "", "", "1 if a time service keeps the clock right.")    \
    M(CLOCK_MAX_ERROR, "holdup_host_clock_max_error_seconds", GAUGE, "seconds", "",                                         \
      "Bound of the clock's error, as the time service tells the kernel; it grows while no service does.")                  \
    M(CLOCK_OFFSET, "holdup_host_clock_offset_seconds", GAUGE, "seconds", "", "Offset that the kernel is correcting.")

#endif
