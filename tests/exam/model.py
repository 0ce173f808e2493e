# SPDX-License-Identifier: Apache-2.0
"""The operators of a job's model: names, shapes and kernel lengths that fit each other and the device."""

from dataclasses import dataclass
from typing import Any

from tests.exam.devices import Device
from tests.exam.draws import Draws

HALF = {
    "NVIDIA A100-SXM4-80GB": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    "NVIDIA H100 80GB HBM3": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_"
    "execute_segment_k_off_kernel__5x_cublas",
    "NVIDIA A10G": "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
    "Tesla V100-SXM2-32GB": "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn",
    "NVIDIA GeForce RTX 2080 Ti": "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
    "AMD Instinct MI300X": "Cijk_Alik_Bljk_BBS_BH_Bias_AS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1",
}
SINGLE = {
    "NVIDIA A100-SXM4-80GB": "ampere_sgemm_128x64_tn",
    "NVIDIA H100 80GB HBM3": "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_"
    "aligna4_alignc4_execute_kernel__51_cublas",
    "NVIDIA A10G": "ampere_sgemm_128x32_tn",
    "Tesla V100-SXM2-32GB": "volta_sgemm_128x64_tn",
    "NVIDIA GeForce RTX 2080 Ti": "volta_sgemm_128x128_tn",
    "AMD Instinct MI300X": "Cijk_Alik_Bljk_SB_MT128x128x16_MI32x32x1_SN_AFC1",
}
ELEMENT = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{0}<{1}>, std::array<char*, {2}ul> >"
    "(int, at::native::{0}<{1}>, std::array<char*, {2}ul>)"
)
REDUCE = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{0}, at::native::MeanOps<{0}, float, float, {0}>, "
    "unsigned int, {0}, 4> >"
    "(at::native::ReduceOp<{0}, at::native::MeanOps<{0}, float, float, {0}>, unsigned int, {0}, 4>)"
)


@dataclass
class Part:
    """An operator with its kernel; backward lists the operators of its gradient."""

    op: str
    kernel: str
    length: int
    kind: str
    args: dict[str, Any]
    wrapper: str = ""
    gradient: str = ""
    backward: "tuple[Part, ...]" = ()


def shapes(dims: list[Any], types: list[str]) -> dict[str, Any]:
    """What record_shapes adds to an operator."""
    return {"Input Dims": dims, "Input type": types}


def node(sequence: int, forward: int) -> dict[str, Any]:
    """What ties a node of backward to its operator of forward."""
    return {"Sequence number": sequence, "Fwd thread id": forward}


def type_names(device: Device, single: bool) -> tuple[str, str, int]:
    """Type in Python's args, type in kernel names, bytes per element."""
    if single:
        return "float", "float", 4
    return ("c10::BFloat16", "c10::BFloat16", 2) if device.major >= 8 else ("c10::Half", "c10::Half", 2)


def gemm(draws: Draws, device: Device, length: int, single: bool, op: str, site: str) -> Part:
    """A product whose FLOPs take `length` at a usual share of the device's peak."""
    python, _, _ = type_names(device, single)
    peak = device.vector if single else device.tensor16
    flops = length * peak * draws.between(0.62, 0.82, "efficiency", site)
    inner, outer = 1024 * draws.whole(1, 4, "inner", site), 1024 * draws.whole(1, 4, "outer", site)
    rows = max(64, int(flops / (2 * inner * outer)) // 64 * 64)
    dims = {"aten::addmm": [[outer], [rows, inner], [inner, outer], [], []], "aten::mm": [[rows, inner], [inner, outer]]}[op]
    kinds = [python if d else "Scalar" for d in dims]
    args = {"Input Dims": dims, "Input type": kinds, "Concrete Inputs": [""] * len(dims)}
    return Part(op, (SINGLE if single else HALF)[device.name], length, "gemm", args, "aten::linear" if op == "aten::addmm" else "")


def element(device: Device, length: int, op: str, functor: str, arrays: int = 3, single: bool = False, kind: str = "element") -> Part:
    """An elementwise operator that moves what memory moves in `length`."""
    python, inside, size = type_names(device, single)
    count = max(4096, int(length * device.bandwidth * 0.8 / (arrays * size)))
    rows = max(1, count // 1024)
    args = {"Input Dims": [[rows, 1024]] * (arrays - 1), "Input type": [python] * (arrays - 1), "Concrete Inputs": [""] * (arrays - 1)}
    name = REDUCE.format(inside) if kind == "reduce" else ELEMENT.format(functor, inside, arrays)
    return Part(op, name, length, kind, args)


def transformer_layer(draws: Draws, device: Device, layer: int, single: bool) -> list[Part]:
    """Norm, product, attention, product, norm, product, activation, product: no two elementwise kernels behind each other."""

    def span(low: float, high: float, what: str) -> int:
        return int(1000 * draws.between(low, high, "length", what))  # all layers alike

    norm = span(4, 9, "norm")
    lengths = [
        span(40, 70, "qkv"),
        span(50, 100, "attention"),
        span(20, 40, "out"),
        span(50, 90, "up"),
        span(6, 12, "act"),
        span(50, 90, "down"),
    ]
    python, inside, _ = type_names(device, single)

    def normal(site: str) -> Part:
        forward = element(device, norm, "aten::native_layer_norm", "", 3, single)
        forward.kernel = (
            f"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<{inside}, float>(int, float, {inside} const*, ...)"
        )
        backward = element(device, norm * 2, "aten::native_layer_norm_backward", "", 3, single)
        backward.kernel = f"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<{inside}, float>({inside} const*, ...)"
        forward.gradient, forward.backward, forward.wrapper = "NativeLayerNormBackward0", (backward,), "aten::layer_norm"
        return forward

    def product(length: int, what: str) -> Part:
        site = f"{what}"
        forward = gemm(draws, device, length, single, "aten::addmm", site)
        forward.gradient = "AddmmBackward0"
        forward.backward = (
            gemm(draws, device, length, single, "aten::mm", site + "d"),
            gemm(draws, device, length, single, "aten::mm", site + "w"),
        )
        return forward

    attention = Part(
        "aten::_scaled_dot_product_flash_attention",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(pytorch_flash::Flash_fwd_params)",
        lengths[1],
        "attention",
        {"Input Dims": [[8, 16, 1024, 64]] * 3, "Input type": [python] * 3},
        "aten::scaled_dot_product_attention",
        "ScaledDotProductFlashAttentionBackward0",
        (
            Part(
                "aten::_scaled_dot_product_flash_attention_backward",
                "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128>>"
                "(pytorch_flash::Flash_bwd_params)",
                int(2.3 * lengths[1]),
                "attention",
                {"Input Dims": [[8, 16, 1024, 64]] * 4, "Input type": [python] * 4},
            ),
        ),
    )
    activation = element(device, lengths[4], "aten::gelu", "GeluCUDAKernelImpl", 2, single)
    activation.gradient = "GeluBackward0"
    activation.backward = (element(device, int(1.4 * lengths[4]), "aten::gelu_backward", "GeluBackwardCUDAKernelImpl", 3, single),)
    return [
        normal("a"),
        product(lengths[0], "qkv"),
        attention,
        product(lengths[2], "out"),
        normal("b"),
        product(lengths[3], "up"),
        activation,
        product(lengths[5], "down"),
    ]


def convolution_layer(draws: Draws, device: Device, layer: int, single: bool) -> list[Part]:
    """Convolution and batch norm with a fused activation."""
    python, inside, _ = type_names(device, single)
    group = layer // 3
    length = int(1000 * draws.between(25, 110, "length", "conv", group))
    norm = int(1000 * draws.between(5, 14, "length", "bn", group))
    flops = length * (device.vector if single else device.tensor16) * draws.between(0.5, 0.7, "efficiency", "conv", group)
    batch = max(1, int(flops / 231211008))  # 3 x 3 products of one image in each of these shapes
    dims = [
        [batch, 64 << min(group, 3), 56 >> min(group, 3), 56 >> min(group, 3)],
        [64 << min(group, 3), 64 << min(group, 3), 3, 3],
        [],
        [],
        [],
        [],
        [],
        [],
        [],
    ]
    kernel = (
        "cudnn_ampere_scudnn_128x64_relu_medium_nn_v1"
        if single
        else "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
        "stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel_cudnn"
    )
    if device.major == 7 and not single:
        kernel = (
            "turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_medium_nhwc_tn_v1"
            if device.minor == 5
            else "volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_medium_nhwc_tn_v1"
        )
    args = {"Input Dims": dims, "Input type": [python, python] + [""] * 7}
    convolution = Part(
        "aten::cudnn_convolution",
        kernel,
        length,
        "gemm",
        args,
        "aten::conv2d",
        "ConvolutionBackward0",
        (
            Part("aten::convolution_backward", kernel.replace("fprop", "dgrad"), length, "gemm", args),
            Part("aten::convolution_backward", kernel.replace("fprop", "wgrad"), int(1.1 * length), "gemm", args),
        ),
    )
    norms = element(device, norm, "aten::cudnn_batch_norm", "", 3, single)
    norms.kernel = (
        f"void cudnn::bn_fw_tr_1C11_kernel_NCHW<{inside}, float, int, 512, true, 1, true>(cudnnTensorStruct, {inside} const*, ...)"
    )
    backward = element(device, int(1.7 * norm), "aten::cudnn_batch_norm_backward", "", 3, single)
    backward.kernel = f"void cudnn::bn_bw_1C11_singleread<{inside}, 512, true, 1, 2, 0>(float, float, {inside} const*, ...)"
    norms.wrapper, norms.gradient, norms.backward = "aten::batch_norm", "CudnnBatchNormBackward0", (backward,)
    return [convolution, norms]


def build(draws: Draws, device: Device, model: str, layers: int, single: bool) -> list[list[Part]]:
    """The layers of a model."""
    maker = transformer_layer if model == "transformer" else convolution_layer
    return [maker(draws, device, layer, single) for layer in range(layers)]


def device_time(layers: list[list[Part]], training: bool = True) -> int:
    """Time of all kernels of a step."""
    return sum(p.length + (sum(b.length for b in p.backward) if training else 0) for layer in layers for p in layer)


def launches(layers: list[list[Part]], training: bool = True) -> int:
    """Kernels of a step."""
    return sum(1 + (len(p.backward) if training else 0) for layer in layers for p in layer)


def scaled(layers: list[list[Part]], factor: float, *_: object) -> None:
    """Scales all kernels; shapes follow where they decide how fast a kernel is."""
    for layer in layers:
        for part in layer:
            for piece in (part, *part.backward):
                piece.length = max(1500, int(piece.length * factor))
                resize(piece, factor)


def resize(part: Part, factor: float) -> None:
    """The first dimension follows the length."""
    dims = [list(d) for d in part.args.get("Input Dims", [])]
    for shape in dims:
        if part.kind == "gemm" and part.op.startswith("aten::cudnn") or part.op == "aten::convolution_backward":
            if len(shape) == 4 and shape[-1] > 3:
                shape[0] = max(1, int(shape[0] * factor))
        elif part.kind == "attention":
            shape[0] = max(1, int(shape[0] * factor))
        elif part.kind != "gemm" and shape:
            shape[0] = max(1, int(shape[0] * factor))
    if part.kind == "gemm" and part.op in ("aten::addmm", "aten::mm"):
        which = 1 if part.op == "aten::addmm" else 0
        dims[which][0] = max(64, int(dims[which][0] * factor) // 64 * 64)
    part.args = {**part.args, "Input Dims": dims}
