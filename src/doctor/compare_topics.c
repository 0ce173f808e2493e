/* SPDX-License-Identifier: Apache-2.0
 * compare_topics.c - what the values of a node are called. */
#include "doctor/compare.h"

/*
 * In the order of a comparison.  Memory: the kernel keeps a part of it, which depends on its version and parameters; one
 * module of 32 is 3 %.
 */
static const hu_compared_topic topics[] = {
    {"os", "operating system", 0},
    {"kernel", "kernel", 0},
    {"boot", "kernel parameter", 0},
    {"machine", "machine", 0},
    {"bios", "BIOS", 0},
    {"cpu", "CPU", 0},
    {"microcode", "CPU microcode", 0},
    {"sockets", "CPU sockets", 0},
    {"cpus", "CPUs online", 0},
    {"smt", "SMT", 0},
    {"governor", "CPU frequency governor", 0},
    {"turbo", "CPU turbo", 0},
    {"mitigation", "CPU vulnerability", 0},
    {"clocksource", "clock source", 0},
    {"numa", "NUMA nodes", 0},
    {"memory", "memory", 0.01},
    {"swap", "swap", 0.01},
    {"thp", "transparent huge pages", 0},
    {"sysctl", "sysctl", 0},
    {"limit", "limit", 0},
    {"driver", "NVIDIA driver", 0},
    {"cuda", "CUDA", 0},
    {"torch", "PyTorch", 0},
    {"gpus", "GPUs", 0},
    {"gpu_bus", "GPUs on the PCI bus", 0},
    {"gpu_model", "GPU model", 0},
    {"amdgpu_driver", "amdgpu driver", 0},
    {"gpu_vbios", "GPU VBIOS", 0},
    {"gpu_firmware", "GPU firmware", 0},
    {"gpu_link", "GPU PCIe link", 0},
    {"gpu", "GPU", 0},
    {"nvidia", "NVIDIA module parameter", 0},
    {"module", "kernel module", 0},
    {"nic", "network interface", 0},
    {"ib", "InfiniBand", 0},
    {"nic_link", "NIC PCIe link", 0},
    {"nvme_link", "NVMe PCIe link", 0},
    {"mount", "mount", 0},
    {"library", "library", 0},
    {"variable", "variable", 0},
};

const hu_compared_topic *hu_compared_topic_of(hu_str key, hu_str *thing)
{
    const char  *dot = key.n ? memchr(key.p, '.', key.n) : NULL;
    const hu_str topic = dot ? (hu_str){key.p, (size_t)(dot - key.p)} : key;

    for (size_t i = 0; i < HU_COUNT(topics); i++)
        if (hu_str_equal(topic, hu_str_of(topics[i].key))) {
            *thing = dot ? (hu_str){dot + 1, key.n - topic.n - 1} : (hu_str){"", 0};
            return &topics[i];
        }
    *thing = key;
    return NULL;
}
