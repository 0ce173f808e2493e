# SPDX-License-Identifier: Apache-2.0
"""Short names of kernels: what each shape of name becomes, and that no two kernels of a report share one."""
from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, OWN, SANITIZED, SHARED, real_traces, report, skip_loudly

AT = "at::native::"
ANON = AT + "(anonymous namespace)::"
LAMBDA = "(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::"
NAMES = {
    # cuBLAS, CUTLASS, cuDNN
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn": "gemm bf16 128×128",
    "ampere_fp16_s1688gemm_fp16_256x64_ldg8_f2f_nn": "gemm f16 256×64",
    "ampere_sgemm_128x64_nt": "gemm f32 128×64",
    "volta_dgemm_64x64_nn": "gemm f64 64×64",
    "turing_h1688gemm_256x128_tn": "gemm f16 256×128",
    "ampere_gcgemm_32x32_nt": "gemm complex f32 32×32",
    "ampere_fp16_sgemm_fp16_32x128_nn": "gemm f16 32×128",
    "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x32_stage4_warpsize2x2x1_tensor16x8x16_kernel": "gemm bf16 128×64",
    "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x256x64_warpgroupsize1x1x1_execute_kernel": "gemm f16 64×256",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_ffma_kernel__5x_cublas": "gemm f32 32×32",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_kernel_cudnn": "conv fwd tf32 64×128",
    "sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwc_tilesize128x128x16_kernel_cudnn": "conv bwd data bf16 128×128",
    "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwc_tilesize256x64x32_kernel": "conv bwd weights f16 256×64",
    "cudnn_infer_volta_scudnn_128x64_relu_xregs_large_nn_v1": "conv f32 128×64",
    "cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1": "conv winograd f32 128×128",
    "void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64_32x6_nn_align8>(Params)": "gemm f16 64×64",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)": "gemm bf16 32×32",
    "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false>(int)": "conv f32",
    "void cudnn::cnn::wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>(int)": "conv wgrad alg0 engine f32",
    "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(int)": "batch norm fw tr 1c11 singleread f32",
    "void splitKreduce_kernel<32, 16, int, float, __half, float>(int)": "split kreduce f32",
    "std::enable_if<true, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, float>(x)": "gemvx bf16",
    "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 4, 4, false>(x)": "gemm f32",
    "nvjet_tst_192x208_64x4_1x1_h_bz_coopB_bias_TNT": "gemm nvjet tst 192×208",
    # AMD
    "Cijk_Ailk_Bljk_BBS_BH_Bias_MT128x64x32_MI16x16x1_SN": "gemm bf16 128×64",
    "Cijk_Alik_Bljk_HHS_BH_MT64x32x64_MI16x16x16x1_SN": "gemm f16 64×32",
    "Cijk_Ailk_Bjlk_S_B_Bias_HA_S_SAV_UserArgs_MT64x64x64_MI16x16x1": "gemm f32 64×64",
    "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT128x144x64_MI16x16x1": "gemm bf16 128×144",
    "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8": "conv fwd bf16 128×64",
    "igemm_wrw_gtcx2_nhwc_fp16_bx0_ex1_bt64x64x16_wt32x32x8": "conv bwd weights f16 64×64",
    "_ZN2ck16tensor_operation6device11kernel_gemmIfEEvv": "gemm f32",
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEvPT0_": "add rmsnorm quant bf16",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_3fooEEEEEvv": "rmsnorm2d fwd",
    "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIN3c104HalfEEESt5arrayIPcLm3EEEEviT_T0_": "elementwise add f16",
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE.kd": "all-reduce ring LL f32",
    "__amd_rocclr_fillBufferAligned.kd": "__amd_rocclr_fillBufferAligned.kd",
    # collectives
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "all-reduce ring LL bf16",
    "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevComm*, unsigned long, ncclWork*)": "all-reduce tree LL f32",
    "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "reduce-scatter ring LL f16",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "all-gather ring LL",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": "send/receive",
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)": "NCCL generic",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": "all-reduce ring LL f32",
    "ncclKernel_AllReduce_TREE_LL128_Max_half(ncclWorkElem)": "all-reduce tree LL128 max f16",
    "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)": "broadcast ring LL",       # its int8_t stands for bytes
    "ncclKernel_AllGather_RING_SIMPLE_Sum_int8_t(ncclWorkElem)": "all-gather ring simple",
    # Triton
    "triton_poi_fused_add_mul_3": "triton pointwise add mul",
    "triton_red_fused_add_mean_mul_pow_rsqrt_0": "triton reduction add mean mul pow rsqrt",
    "triton_per_fused__softmax_1": "triton reduction, persistent softmax",
    "triton_tem_fused_mm_2": "triton template mm",
    "triton__0d1d2d": "triton__0d1d2d",
    # PyTorch
    f"void {AT}vectorized_elementwise_kernel<4, {AT}CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)": "elementwise add f32",
    f"void {AT}vectorized_elementwise_kernel<4, {AT}BinaryFunctor<float, float, float, {AT}binary_internal::MulFunctor<float> >, x>(int)":
        "elementwise mul f32",
    f"void {AT}vectorized_elementwise_kernel<4, {AT}FillFunctor<c10::BFloat16>, x>(int)": "elementwise fill bf16",
    f"void {AT}vectorized_elementwise_kernel<8, {AT}bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda(float)#1}}, x>(int)":
        "elementwise copy f32→bf16",
    f"void {AT}vectorized_elementwise_kernel<4, {AT}bfloat16tofloat32_copy_kernel_cuda(X&)::{{lambda(c10::BFloat16)#1}}, x>(int)":
        "elementwise copy bf16→f32",
    f"void {AT}unrolled_elementwise_kernel<{AT}direct_copy_kernel_cuda{LAMBDA}{{lambda(double)#1}}, {AT}memory::LoadWithCast<1> >(int)":
        "elementwise copy cast f64",
    f"void {AT}elementwise_kernel<128, 4, {AT}gpu_kernel_impl_nocast<{AT}where_kernel_impl{LAMBDA}{{lambda(bool, float, float)#1}}>(x)":
        "elementwise where f32",
    f"void {AT}elementwise_kernel<128, 2, {AT}gpu_kernel_impl_nocast<{ANON}masked_fill_kernel(X&){{lambda(c10::Half, bool)#1}}>(x)":
        "elementwise masked fill f16",
    f"void {AT}vectorized_elementwise_kernel<(int)4, {AT}tanh_kernel_cuda(X &)::[lambda() (instance 2)]::operator ()() const"
    "::[lambda(float) (instance 1)], x>(int, T2)": "elementwise tanh f32",
    f"void {AT}index_elementwise_kernel<128, 4, {AT}gpu_index_kernel<{AT}index_kernel_impl<{AT}OpaqueType<4> >(X&)>(int)":
        "elementwise index 4-byte",
    f"void {AT}reduce_kernel<512, 1, {AT}ReduceOp<float, {AT}func_wrapper_t<float, {AT}sum_functor<float, float, float>::operator()"
    "(X&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(x)": "reduce sum f32",
    f"void {AT}reduce_kernel<128, 4, {AT}ReduceOp<c10::BFloat16, {AT}MeanOps<c10::BFloat16, float, float>, unsigned int> >(x)":
        "reduce mean bf16",
    f"void {AT}reduce_kernel<512, 1, {AT}ReduceOp<int, {AT}ArgMaxOps<int>, unsigned int, long, 4> >(x)": "reduce arg max i32",
    "cudnn::bn_fw_inf_1C11_kernel_NCHW<__half, float, true, 1>(float)": "batch norm fw inference 1c11 nchw f16",
    f"void {ANON}softmax_warp_forward<c10::Half, c10::Half, float, 10, false, false>(x)": "softmax warp fwd f16",
    f"void {ANON}softmax_warp_backward<float, float, float, 10, false, false>(x)": "softmax warp bwd f32",
    f"void {ANON}vectorized_layer_norm_kernel<c10::BFloat16, float>(int)": "vectorized layer norm bf16",
    f"void {ANON}layer_norm_grad_input_kernel<float, float>(x)": "layer norm grad input f32",
    f"void {AT}batch_norm_backward_kernel<c10::BFloat16, c10::BFloat16, float, int>(x)": "batch norm bwd bf16",
    f"void {ANON}indexSelectLargeIndex<c10::Half, long, unsigned int, 2, 2, -2, true>(x)": "index select large index f16",
    f"void {ANON}CatArrayBatchedCopy_contig<{ANON}OpaqueType<2u>, unsigned int, 3, 64, 64>(x)": "cat array batched copy contig 2-byte",
    f"void {AT}im2col_kernel<float>(long, float const*)": "im2col f32",
    f"void {ANON}nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(x)": "nll loss fwd reduce 2d f32",
    f"void {AT}embedding_backward_feature_kernel<float, float, long>(x)": "embedding bwd feature f32",
    f"void {ANON}multi_tensor_apply_kernel<{ANON}FusedOptimizerTensorListMetadata<4>, {ANON}FusedAdamMathFunctor<float, 4, (ADAM_MODE)0> >(x)":
        "multi-tensor Adam f32",
    f"void {ANON}multi_tensor_apply_kernel<{ANON}TensorListMetadata<1>, {ANON}BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float> >(x)":
        "multi-tensor mul f32",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t> >(x)": "flash attention fwd bf16",
    "fmha_cutlassB_f16_aligned_64x64_k64_sm80(Params)": "attention bwd f16 64×64",
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DevicePolicy, long>(x)": "device radix sort onesweep i64",
    "void mine::my_fancy_thing<MyType<1, 2> >(int)": "my fancy thing",
    "saxpy(double *, double *, int)": "saxpy",
    "reduce_segments": "reduce_segments",
    "Memcpy HtoD (Pinned -> Device)": "Memcpy HtoD (Pinned -> Device)",
}


def shorts(names: list[str]) -> list[str]:
    quoted = [n.replace("'", "''") for n in names]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.sql"
        path.write_text(" UNION ALL ".join(f"SELECT {i} AS i, short_name('{n}') AS s" for i, n in enumerate(quoted)) + " ORDER BY 1")
        done = subprocess.run([EXE, "query", OWN[0], "--json", "-q", "--file", path], check=True, capture_output=True)
    return [r["s"] for r in json.loads(done.stdout)]


class Short(unittest.TestCase):
    maxDiff = None

    def test_shapes_of_names(self) -> None:
        self.assertGreater(len(NAMES), 60)
        self.assertEqual(dict(zip(NAMES, shorts(list(NAMES)))), NAMES)

    def kernels(self, names: list[str]) -> dict[str, str]:
        """Of a report with these kernels."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": [
                {"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": 1000 + 10 * i, "dur": 5, "args": {"stream": 7, "device": 0}}
                for i, n in enumerate(names)]}))
            return {k["name"]: k["short_name"] for k in report(path)["ranks"][0]["kernels"]}

    def test_alike_ones_stay_apart(self) -> None:
        gemm = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_{}"
        fill = f"void {AT}vectorized_elementwise_kernel<{{}}, {AT}FillFunctor<float>, x>(int)"
        got = self.kernels([gemm.format("32x5_tn"), gemm.format("32x5_nn"), fill.format(4), fill.format(2), fill.format(8)])
        self.assertEqual(got[gemm.format("32x5_tn")], "gemm bf16 128×128 (tn)")
        self.assertEqual(got[gemm.format("32x5_nn")], "gemm bf16 128×128 (nn)")
        self.assertEqual(sorted(got[fill.format(n)] for n in (2, 4, 8)), [f"elementwise fill f32 ({n})" for n in (2, 4, 8)])
        long = ["void k<" + "A" * 30 + c + ">(int)" for c in "BCD"]
        self.assertEqual(sorted(self.kernels(long).values()), ["k", "k #2", "k #3"])

    def test_every_report_tells_its_kernels_apart(self) -> None:
        compared = 0
        real = sorted(real_traces(), key=lambda p: p.stat().st_size)[: 8 if SANITIZED else 30]
        if not real:
            self.skipTest("no traces with kernels")
        for path in OWN + real:
            for rank in report(path)["ranks"]:
                names = [k["short_name"] for k in rank["kernels"]]
                self.assertEqual(len(set(names)), len(names), path)
                self.assertLessEqual(max(map(len, names), default=0), 48)
                self.assertNotIn("", names)
                compared += len(names)
        self.assertGreater(compared, 20)

    def test_mangled_names_are_said_as_what_they_stand_for(self) -> None:
        """All that the traces of others hold, with c++filt as the oracle."""
        if not shutil.which("c++filt") or not (SHARED / "traces").is_dir():
            skip_loudly("no c++filt or no shared/traces: short names of mangled names are not compared")
            self.skipTest("no oracle")
        names: set[str] = set()
        for path in (p for p in (SHARED / "traces").rglob("*") if p.is_file()):
            data = path.read_bytes()
            try:
                data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            except (OSError, EOFError):
                continue
            names |= {m.decode() for m in re.findall(rb"_Z[A-Z0-9][A-Za-z0-9_.$]{5,}", data)}
        ordered = sorted(names)
        plain = subprocess.run(["c++filt"], input="\n".join(ordered), check=True, capture_output=True, text=True).stdout.split("\n")
        pairs = [(a, b) for a, b in zip(ordered, plain) if a != b]
        if SANITIZED:
            pairs = pairs[::20]
        self.assertGreater(len(pairs), 100)
        wrong = []
        for at in range(0, len(pairs), 300):
            part = pairs[at : at + 300]
            ours, theirs = shorts([a for a, _ in part]), shorts([b for _, b in part])
            wrong += [(a, x, y) for (a, _), x, y in zip(part, ours, theirs) if x != y]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
