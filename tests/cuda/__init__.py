# SPDX-License-Identifier: Apache-2.0
"""The exam of the CUDA door: stand-ins of libcuda, libcudart and libcupti, programs that use them, and the vendor's own libraries."""
