// SPDX-License-Identifier: Apache-2.0
#include "operators.hpp"

#include <gantry/word_list.hpp>

#include <algorithm>
#include <utility>

namespace gantry::dnnl_plugin {
namespace {

// Files of apache/tvm, and the pull requests that date a row.
constexpr std::string_view dnnl_runtime = "src/runtime/contrib/dnnl/dnnl_json_runtime.cc";
constexpr std::string_view dnnl_fused =
    "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, python/tvm/relay/op/contrib/dnnl.py, "
    "src/relay/backend/contrib/dnnl/codegen.cc; #9797 #9995";
constexpr std::string_view trt_runtime =
    "src/runtime/contrib/tensorrt/tensorrt_ops.cc, src/relay/backend/contrib/tensorrt/codegen.cc; "
    "#6395";
constexpr std::string_view trt_relax =
    "src/runtime/contrib/tensorrt/tensorrt_ops.cc, src/relax/backend/contrib/tensorrt/codegen.cc, "
    "python/tvm/relax/backend/contrib/tensorrt.py";
constexpr std::string_view acl_runtime =
    "src/runtime/contrib/arm_compute_lib/acl_runtime.cc, "
    "src/relay/backend/contrib/arm_compute_lib/codegen.cc; #5915";
constexpr std::string_view bnns_runtime =
    "src/runtime/contrib/bnns/bnns_json_runtime.cc, python/tvm/relay/op/contrib/bnns.py; #7299";

constexpr std::string_view cublas_runtime =
    "src/runtime/contrib/cublas/cublas_json_runtime.cc, "
    "src/relax/backend/contrib/cublas/codegen.cc, "
    "python/tvm/relax/backend/contrib/cublas.py; #14291 #16134";
constexpr std::string_view cudnn_runtime =
    "src/runtime/contrib/cudnn/cudnn_json_runtime.cc, src/relax/backend/contrib/cudnn/codegen.cc, "
    "python/tvm/relax/backend/contrib/cudnn.py; #15462";
constexpr std::string_view clml_first =
    "src/runtime/contrib/clml/clml_runtime.cc, src/relay/backend/contrib/clml/codegen.cc; #10243";
constexpr std::string_view clml_more =
    "src/runtime/contrib/clml/clml_runtime.cc, src/relay/backend/contrib/clml/codegen.cc; #12762";

constexpr std::string_view clml_relax =
    "src/runtime/contrib/clml/clml_runtime.cc, src/relax/backend/contrib/clml/codegen.cc, "
    "python/tvm/relax/backend/adreno/clml.py";
constexpr std::string_view nnapi_runtime =
    "src/runtime/contrib/nnapi/nnapi_ops.cc, src/relax/backend/contrib/nnapi/codegen.cc, "
    "python/tvm/relax/backend/contrib/nnapi.py";

// Attributes and the layouts that exporters write.
constexpr std::string_view dnnl_convolution =
    "strides padding dilation groups data_layout=NCHW** kernel_layout=OIHW**/GOIHW** "
    "out_layout=NCHW** a_min a_max";
constexpr std::string_view dnnl_convolutions =
    "strides padding dilation groups data_layout=NCW**/NCDHW** "
    "kernel_layout=OIW**/GOIW**/OIDHW**/GOIDHW** out_layout=NCW**/NCDHW** a_min a_max";
constexpr std::string_view dnnl_transposed =
    "strides padding dilation groups data_layout=NCHW**/NCDHW** kernel_layout=OIHW**/OIDHW** "
    "out_layout=NCHW**/NCDHW** a_min a_max";
constexpr std::string_view dnnl_quantized =
    "strides padding dilation groups data_layout=NCHW* kernel_layout=OIHW* out_layout=NCHW* "
    "bias_idx sum_idx sum_scl_idx o_scl_idx dst_zp_idx activation";
constexpr std::string_view trt_convolution =
    "strides padding dilation groups data_layout=NCW/NCHW/NCDHW kernel_layout=OIW/OIHW/OIDHW "
    "out_layout=NCW/NCHW/NCDHW";
constexpr std::string_view trt_transposed =
    "strides padding dilation groups data_layout=NCHW/NCDHW kernel_layout=OIHW/OIDHW/IOHW/IODHW "
    "out_layout=NCHW/NCDHW";
constexpr std::string_view nchw_convolution =
    "strides padding dilation groups data_layout=NCHW kernel_layout=OIHW out_layout=NCHW";
constexpr std::string_view nchw_pool =
    "pool_size strides padding dilation layout=NCHW out_layout=NCHW ceil_mode count_include_pad";
constexpr std::string_view nhwc_pool =
    "pool_size strides padding dilation layout=NHWC out_layout=NHWC ceil_mode count_include_pad";
constexpr std::string_view dense = "data [rows, inputs], weight [units, inputs]";
constexpr std::string_view blas_shapes =
    "a [..., rows, inputs], b [..., inputs, columns], transposed [..., columns, inputs]";
constexpr std::string_view batches = "[batch, rows, columns]";
constexpr std::string_view floats = "float32 float16 bfloat16";

constexpr OperatorRow rows[] = {
    // Relay's exporter for oneDNN.
    {"dnnl_json", "nn.conv2d conv2d", "bias sum relu tanh sigmoid clip gelu swish mish",
     Operation::convolution, "data weight [bias] [sum]", dnnl_convolution, "any", floats,
     "v0.8..v0.27; other than relu since v0.9, sum, gelu and mish since v0.10",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, python/tvm/relay/op/contrib/dnnl.py; #9797 "
     "#12106 #12151 #12228"},
    {"dnnl_json", "nn.conv1d conv1d nn.conv3d conv3d",
     "bias relu tanh sigmoid clip gelu swish mish", Operation::convolution, "data weight [bias]",
     dnnl_convolutions, "any", floats, "v0.9..v0.19", dnnl_fused},
    {"dnnl_json", "nn.conv2d_transpose deconv2d nn.conv3d_transpose deconv3d",
     "bias relu tanh sigmoid clip gelu swish mish", Operation::transposed_convolution,
     "data weight [bias]", dnnl_transposed, "OIDHW means IODHW", floats, "v0.9..v0.19", dnnl_fused},
    {"dnnl_json", "nn.dense dense", "bias sum relu tanh sigmoid clip gelu swish", Operation::dense,
     "data weight [bias] [sum]", "a_min a_max", dense, floats,
     "v0.8..v0.19; fusions since v0.9, gelu since v0.10, sum since v0.11",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, python/tvm/relay/op/contrib/dnnl.py; #9797 "
     "#11513 #13550"},
    {"dnnl_json", "nn.contrib_dense_pack packeddense", "bias relu tanh sigmoid clip gelu swish",
     Operation::dense, "data weight [bias]", "weight_layout=NC** a_min a_max",
     "data [rows, inputs], weight N (units) and C (inputs)", floats, "v0.10..v0.19",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, src/relay/backend/contrib/dnnl/codegen.cc; "
     "#11966"},
    {"dnnl_json", "qnn.conv2d", "", Operation::convolution, "data weight named...", dnnl_quantized,
     "any", "uint8 int8 int32 float32", "v0.10..v0.19",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, "
     "src/relay/backend/contrib/dnnl/comp_op_matcher.h; #9618"},
    {"dnnl_json", "qnn.dense", "", Operation::dense, "data weight named...",
     "bias_idx sum_idx sum_scl_idx o_scl_idx dst_zp_idx activation", dense,
     "uint8 int8 int32 float32", "v0.10..v0.19",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc, "
     "src/relay/backend/contrib/dnnl/comp_op_matcher.h; #9618"},
    {"dnnl_json", "nn.batch_matmul", "", Operation::batch_matmul, "a b", "transpose_a transpose_b",
     batches, floats, "v0.10..v0.19", "src/runtime/contrib/dnnl/dnnl_json_runtime.cc; #12018"},
    {"dnnl_json", "nn.batch_norm", "", Operation::batch_norm, "data gamma beta mean variance",
     "axis=1 epsilon center scale", "any", floats, "v0.8..v0.19", dnnl_runtime},
    {"dnnl_json", "nn.layer_norm", "", Operation::layer_norm, "data gamma beta",
     "axis epsilon center scale", "the last axis", floats, "v0.9..v0.19",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc; #11508"},
    {"dnnl_json", "nn.softmax", "", Operation::softmax, "data", "axis", "any", floats,
     "v0.9..v0.19", dnnl_fused},
    {"dnnl_json", "nn.max_pool2d nn.avg_pool2d nn.max_pool3d nn.avg_pool3d", "", Operation::pooling,
     "data",
     "pool_size strides padding dilation layout=NCHW**/NCDHW** out_layout=NCHW**/NCDHW** ceil_mode "
     "count_include_pad",
     "any", floats, "v0.9..v0.19", dnnl_fused},
    {"dnnl_json", "nn.global_avg_pool2d", "", Operation::global_pooling, "data",
     "layout=NCHW* out_layout=NCHW*", "output 1 x 1", floats, "v0.10..v0.19",
     "src/runtime/contrib/dnnl/dnnl_json_runtime.cc; #11823"},
    {"dnnl_json", "nn.relu", "", Operation::elementwise, "data", "", "any", floats, "v0.8..v0.19",
     dnnl_runtime},
    {"dnnl_json", "abs clip exp log sqrt round nn.leaky_relu tanh sigmoid", "",
     Operation::elementwise, "data", "a_min a_max alpha", "any", floats, "v0.9..v0.19", dnnl_fused},
    {"dnnl_json", "add multiply", "", Operation::binary, "a b", "", "broadcast", floats,
     "v0.8..v0.19; multiply since v0.9", dnnl_runtime},

    // TensorRT. Composites "tensorrt.<operator>" since v0.10, plain operators before.
    {"tensorrt", "nn.conv1d nn.conv2d nn.conv3d", "", Operation::convolution, "data weight",
     trt_convolution, "any", floats, "v0.8..v0.27", trt_runtime},
    {"tensorrt", "nn.conv2d_transpose nn.conv3d_transpose", "", Operation::transposed_convolution,
     "data weight", trt_transposed, "OIHW and OIDHW mean IOHW and IODHW", floats, "v0.8..v0.27",
     trt_runtime},
    {"tensorrt", "nn.dense", "", Operation::dense, "data weight", "",
     "data [..., inputs], weight [units, inputs]", floats, "v0.8..v0.19", trt_runtime},
    {"tensorrt", "nn.batch_matmul", "", Operation::batch_matmul, "a b", "transpose_a transpose_b",
     batches, floats, "v0.8..v0.27", "src/runtime/contrib/tensorrt/tensorrt_ops.cc; #8005"},
    {"tensorrt", "nn.bias_add", "", Operation::bias_add, "data bias", "axis", "any", floats,
     "v0.8..v0.19", trt_runtime},
    {"tensorrt", "nn.batch_norm", "", Operation::batch_norm, "data gamma beta mean variance",
     "axis=1/3 epsilon center scale", "any", floats, "v0.8..v0.19", trt_runtime},
    {"tensorrt", "nn.layer_norm", "", Operation::layer_norm, "data gamma beta",
     "axis axes epsilon center scale", "the last axes", floats, "v0.8..v0.27",
     "src/runtime/contrib/tensorrt/tensorrt_ops.cc; #8005"},
    {"tensorrt", "nn.softmax", "", Operation::softmax, "data", "axis", "any", floats, "v0.8..v0.27",
     trt_runtime},
    {"tensorrt", "nn.max_pool2d nn.avg_pool2d nn.max_pool3d nn.avg_pool3d", "", Operation::pooling,
     "data",
     "pool_size strides padding dilation layout=NCHW/NCDHW out_layout=NCHW/NCDHW ceil_mode "
     "count_include_pad",
     "any", floats, "v0.8..v0.27", trt_runtime},
    {"tensorrt",
     "nn.global_max_pool2d nn.global_avg_pool2d nn.adaptive_max_pool2d nn.adaptive_avg_pool2d", "",
     Operation::global_pooling, "data", "layout=NCHW out_layout=NCHW", "output 1 x 1", floats,
     "v0.8..v0.27", trt_runtime},
    {"tensorrt", "nn.relu sigmoid tanh clip nn.leaky_relu exp log sqrt abs negative", "",
     Operation::elementwise, "data", "a_min a_max arg_min arg_max alpha", "any", floats,
     "v0.8..v0.27", trt_runtime},
    {"tensorrt", "sin cos atan ceil floor erf nn.silu", "", Operation::elementwise, "data", "",
     "any", floats, "v0.8..v0.27; nn.silu since v0.26", trt_relax},
    {"tensorrt", "add subtract multiply divide power maximum minimum", "", Operation::binary, "a b",
     "", "broadcast", floats, "v0.8..v0.27", trt_runtime},
    {"tensorrt", "image.resize2d", "", Operation::resize, "data",
     "layout=NCHW method=nearest_neighbor/linear/cubic "
     "coordinate_transformation_mode=asymmetric/align_corners/half_pixel/pytorch_half_pixel "
     "rounding_method=round/floor/ceil/round_prefer_ceil/round_prefer_floor cubic_alpha "
     "cubic_exclude",
     "[images, channels, height, width]", floats, "v0.26..v0.27", trt_relax},
    {"tensorrt", "nn.batch_flatten expand_dims squeeze reshape", "", Operation::reshape, "data", "",
     "any", floats, "v0.8..v0.27", trt_runtime},
    {"tensorrt", "transpose", "", Operation::transpose, "data", "axes", "any", floats,
     "v0.8..v0.27", trt_runtime},
    {"tensorrt", "layout_transform", "", Operation::layout_transform, "data",
     "src_layout=NCHW/NHWC/NCDHW/NDHWC dst_layout=NCHW/NHWC/NCDHW/NDHWC arg_axes", "any", floats,
     "v0.8..v0.27", trt_runtime},
    {"tensorrt", "concatenate", "", Operation::concatenate, "data...", "axis", "any", floats,
     "v0.8..v0.27", trt_runtime},
    {"tensorrt", "split", "", Operation::split, "data", "axis", "any", floats, "v0.8..v0.27",
     "src/runtime/contrib/tensorrt/tensorrt_ops.cc; #7967"},
    {"tensorrt", "strided_slice", "", Operation::slice, "data",
     "start size strides arg_axes arg_begin arg_end arg_strides", "any", floats, "v0.8..v0.27",
     trt_runtime},
    {"tensorrt", "nn.pad", "", Operation::pad, "data [value]", "padding",
     "the last two dimensions, zeros", floats, "v0.8..v0.19", trt_runtime},
    {"tensorrt", "sum prod max min mean", "", Operation::reduce, "data", "axis keepdims exclude=0",
     "any", floats, "v0.8..v0.27", trt_runtime},

    // Arm Compute Library: one operator in each sub-graph.
    {"arm_compute_lib", "nn.conv2d", "", Operation::convolution, "data weight [bias]",
     "strides padding dilation groups data_layout=NHWC kernel_layout=OHWI out_layout=NHWC "
     "activation_type=relu",
     "any", floats, "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "nn.dense", "", Operation::dense, "data weight [bias]", "", dense, floats,
     "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "nn.max_pool2d nn.avg_pool2d", "", Operation::pooling, "data", nhwc_pool,
     "any", "float32 float16 bfloat16 uint8", "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "nn.l2_pool2d", "", Operation::l2_pooling, "data", nhwc_pool, "any", floats,
     "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "nn.global_max_pool2d nn.global_avg_pool2d", "", Operation::global_pooling,
     "data", "layout=NHWC out_layout=NHWC", "output 1 x 1", "float32 float16 bfloat16 uint8",
     "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "reshape", "", Operation::reshape, "data", "", "any",
     "float32 float16 bfloat16 uint8", "v0.8..v0.19", acl_runtime},
    {"arm_compute_lib", "concatenate", "", Operation::concatenate, "data...", "axis", "any",
     "float32 float16 bfloat16 uint8", "v0.9..v0.19", acl_runtime},
    {"arm_compute_lib", "maximum add", "", Operation::binary, "a b", "", "any", floats,
     "v0.8..v0.19", acl_runtime},

    // Apple's BNNS.
    {"bnns_json", "nn.conv2d conv2d", "bias relu sigmoid", Operation::convolution,
     "data weight [bias]", nchw_convolution, "any", floats, "v0.8..v0.19", bnns_runtime},
    {"bnns_json", "nn.dense dense", "bias gelu", Operation::dense, "data weight [bias]", "", dense,
     floats, "v0.8..v0.19", bnns_runtime},
    {"bnns_json", "nn.batch_matmul", "", Operation::batch_matmul, "a b", "transpose_a transpose_b",
     batches, floats, "v0.8..v0.19", bnns_runtime},
    {"bnns_json", "nn.instance_norm", "", Operation::instance_norm, "data gamma beta",
     "axis=1 epsilon center scale", "three or more dimensions", floats, "v0.8..v0.19",
     bnns_runtime},
    {"bnns_json", "nn.max_pool2d nn.avg_pool2d", "", Operation::pooling, "data", nchw_pool, "any",
     floats, "v0.8..v0.19", bnns_runtime},
    {"bnns_json", "nn.global_max_pool2d nn.global_avg_pool2d", "", Operation::global_pooling,
     "data", "layout=NCHW out_layout=NCHW", "output 1 x 1", floats, "v0.8..v0.19", bnns_runtime},

    // Relax's exporters for cuBLAS and hipBLAS.
    {"cublas_json", "matmul matmul_transposed", "bias relu gelu", Operation::matmul, "a b [bias]",
     "", blas_shapes, "float32 float16 bfloat16 float8_e4m3fn int8 int32", "v0.16..v0.27",
     cublas_runtime},
    {"cublas_json", "matmul_transposed", "dequantize multiply", Operation::matmul,
     "a b [multiply] [multiply]", "dq_scale", "scales have one number",
     "float32 float16 bfloat16 float8_e4m3fn int8 int32", "v0.18..v0.27", cublas_runtime},
    {"hipblas_json", "matmul matmul_transposed", "bias relu gelu", Operation::matmul, "a b [bias]",
     "", blas_shapes, "float32 float16 bfloat16 int8 int32", "v0.17..v0.27",
     "src/runtime/contrib/hipblas/hipblas_json_runtime.cc, "
     "src/relax/backend/contrib/hipblas/codegen.cc, python/tvm/relax/backend/rocm/hipblas.py"},

    // Relax's exporter for cuDNN. Its name of a convolution in NCHW is the same.
    {"cudnn_json", "conv2d.nhwc_ohwi", "bias relu", Operation::convolution, "data weight [bias]",
     "strides padding dilation groups data_layout=NCHW/NHWC kernel_layout=OIHW/OHWI "
     "out_layout=NCHW/NHWC",
     "any", floats, "v0.16..v0.27", cudnn_runtime},
    {"cudnn_json", "attention.BS3NH attention.SBN3H", "", Operation::attention, "data [workspace]",
     "num_heads num_kv_heads head_size head_size_v layout=BS3NH/SBN3H scale causal_mask=none "
     "window_size=none",
     "[batch, positions, heads of Q K V], or [positions, batch, heads, Q K V]", floats,
     "v0.17..v0.27",
     "src/runtime/contrib/cudnn/cudnn_json_runtime.cc, src/relax/backend/contrib/cudnn/codegen.cc, "
     "python/tvm/relax/backend/cuda/cudnn.py"},

    // Relay's exporter for OpenCL ML.
    {"clml", "nn.conv2d nn.depthwise_conv2d", "", Operation::convolution, "data weight [bias]",
     "strides padding dilation groups data_layout=NCHW kernel_layout=OIHW/IOHW out_layout=NCHW "
     "activation_type=relu/relu6",
     "any", floats, "v0.9..v0.19",
     "src/runtime/contrib/clml/clml_runtime.cc, src/relay/backend/contrib/clml/codegen.cc; #10243 "
     "#13670"},
    {"clml", "nn.dense", "", Operation::dense, "data weight [bias]", "", dense, floats,
     "v0.9..v0.19", clml_first},
    {"clml", "nn.batch_norm", "", Operation::batch_norm, "data gamma beta mean variance",
     "axis=1 epsilon center scale", "any", floats, "v0.9..v0.19", clml_first},
    {"clml", "nn.softmax", "", Operation::softmax, "data", "axis", "any", floats, "v0.9..v0.19",
     clml_first},
    {"clml", "nn.global_max_pool2d nn.global_avg_pool2d", "", Operation::global_pooling, "data",
     "layout=NCHW out_layout=NCHW", "output 1 x 1", floats, "v0.9..v0.19", clml_first},
    {"clml", "nn.max_pool2d nn.avg_pool2d", "", Operation::pooling, "data", nchw_pool, "any",
     floats, "v0.10..v0.19", clml_more},
    {"clml", "nn.relu clip", "", Operation::elementwise, "data", "a_min a_max", "any", floats,
     "v0.9..v0.19", clml_first},
    {"clml", "nn.batch_flatten reshape", "", Operation::reshape, "data", "", "any", floats,
     "v0.9..v0.19", clml_first},
    {"clml", "add subtract multiply maximum minimum", "", Operation::binary, "a b", "", "broadcast",
     floats, "v0.10..v0.19", clml_more},
    {"clml", "concatenate", "", Operation::concatenate, "data...", "axis", "any", floats,
     "v0.10..v0.19", clml_more},

    // Relax's exporter for OpenCL ML. What is fused comes before the name: "openclml.relu.bias.nn.conv2d".
    {"clml", "openclml.nn.conv2d", "bias bn relu tuple pad", Operation::convolution,
     "data weight [bias] [bn] [bn] [bn] [bn]",
     "strides padding dilation groups data_layout=NCHW kernel_layout=OIHW out_layout=NCHW "
     "activation_type=relu batchnorm",
     "any", floats, "v0.20..v0.27", clml_relax},
    {"clml", "openclml.nn.conv2d_transpose", "bias relu", Operation::transposed_convolution,
     "data weight [bias]",
     "strides padding dilation groups data_layout=NCHW kernel_layout=IOHW/OIHW out_layout=NCHW "
     "activation_type=relu",
     "any", floats, "v0.20..v0.27", clml_relax},
    {"clml", "openclml.nn.batch_norm", "", Operation::batch_norm, "data gamma beta mean variance",
     "axis=1 epsilon center scale", "any", floats, "v0.20..v0.27", clml_relax},
    {"clml", "openclml.nn.max_pool2d openclml.nn.avg_pool2d", "", Operation::pooling, "data",
     nchw_pool, "any", floats, "v0.20..v0.27", clml_relax},
    {"clml", "openclml.nn.global_avg_pool2d", "", Operation::reduce, "data", "axis keepdims", "any",
     floats, "v0.20..v0.27", clml_relax},
    {"clml", "openclml.reshape", "", Operation::reshape, "data", "", "any", floats, "v0.20..v0.27",
     clml_relax},
    {"clml", "openclml.relax.nn.softmax", "", Operation::softmax, "data", "axis", "any", floats,
     "v0.20..v0.27", clml_relax},
    {"clml", "openclml.relax.nn.relu", "", Operation::elementwise, "data", "activation_type=relu",
     "any", floats, "v0.20..v0.27", clml_relax},
    {"clml",
     "openclml.relax.add openclml.relax.subtract openclml.relax.multiply openclml.relax.divide "
     "openclml.relax.maximum openclml.relax.minimum",
     "", Operation::binary, "a b", "", "broadcast", floats, "v0.20..v0.27", clml_relax},

    // Relax's exporter for Android's NNAPI, whose convolutions and poolings are in NCHW.
    {"nnapi", "add mul div sub pow maximum minimum", "", Operation::binary, "a b", "", "broadcast",
     floats, "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "equal greater greater_equal less less_equal not_equal", "", Operation::binary, "a b",
     "", "broadcast, to bool", "float32 float16 bfloat16 bool", "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "floor relu logistic tanh abs exp log neg sqrt rsqrt", "", Operation::elementwise,
     "data", "", "any", floats, "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "softmax", "", Operation::softmax, "data", "", "the last axis", floats,
     "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "cast", "", Operation::cast, "data", "", "any",
     "float32 float16 bfloat16 int8 uint8 int32 bool", "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "batch_matmul", "", Operation::matmul, "a b", "", "[..., rows, columns]", floats,
     "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "transpose", "", Operation::transpose, "data", "axes", "any", floats, "v0.21..v0.27",
     nnapi_runtime},
    {"nnapi", "mean", "", Operation::reduce, "data", "axis keepdims", "any", floats, "v0.21..v0.27",
     nnapi_runtime},
    {"nnapi", "conv2d", "", Operation::convolution, "data weight [bias]", "strides padding group",
     "[images, channels, height, width]", floats, "v0.21..v0.27", nnapi_runtime},
    {"nnapi", "max_pool_2d", "", Operation::pooling, "data", "strides padding pool_size",
     "[images, channels, height, width]", floats, "v0.21..v0.27", nnapi_runtime},
};

constexpr IgnoredAttributes ignored[] = {
    {"", "channels kernel_size units out_dtype astype_dtype",
     "the types and shapes of the sub-graph have it"},
    {"nn.conv2d_transpose deconv2d nn.conv3d_transpose deconv3d openclml.nn.conv2d_transpose",
     "output_padding", "the shape of the output has it"},
    {"reshape squeeze expand_dims openclml.reshape",
     "newshape reverse allowzero axis num_newaxis arg_shape", "the shape of the output has it"},
    {"split", "indices_or_sections mode", "the shapes of the outputs have it"},
    {"nn.adaptive_max_pool2d nn.adaptive_avg_pool2d", "output_size",
     "the shape of the output has it"},
    {"image.resize2d", "arg_size roi extrapolation_value",
     "the shape of the output has it; of a region, which no exporter leaves to TensorRT"},
    {"strided_slice", "assume_inbound", "indices are always within the tensor"},
    {"openclml.nn.batch_norm", "momentum training", "of training"},
    {"qnn.conv2d qnn.dense", "act_scl_idx", "activation has the same index"},
    {"", "auto_scheduler_rewritten_layout meta_schedule_original_shape",
     "of schedules that a library does not have"},
    {"", "PartitionedFromPattern", "the name of the operator has it"},
    {"",
     "tensorrt_version use_implicit_batch max_workspace_size use_fp16 use_uint8 nvdla "
     "allow_gpu_fallback remove_no_mac_subgraphs",
     "options of TensorRT"},
};

// The prefix of a composite's name.
constexpr struct {
  std::string_view key;
  std::string_view prefix;
} prefixes[] = {{"dnnl_json", "dnnl."},     {"tensorrt", "tensorrt."},    {"bnns_json", "bnns."},
                {"cublas_json", "cublas."}, {"hipblas_json", "hipblas."}, {"cudnn_json", "cudnn."},
                {"nnapi", "nnapi."}};

// Reads "_bias_relu", in which each word is at most once.
std::optional<std::vector<std::string_view>> read_fusions(const OperatorRow& row,
                                                          std::string_view rest) {
  std::vector<std::string_view> found;
  if (rest.empty()) return found;
  rest.remove_prefix(1);
  while (!rest.empty()) {
    const std::string_view word = take_word(rest, '_');
    if (!has_word(row.fusions, word) || std::ranges::find(found, word) != found.end()) return {};
    found.push_back(word);
  }
  return found;
}

constexpr std::string_view openclml = "openclml.";

// Relax's exporter for OpenCL ML writes what is fused before the name, the last one first:
// "openclml.relu.bias.nn.conv2d".
std::optional<OperatorMatch> find_openclml(std::string_view name) {
  for (const OperatorRow& row : rows) {
    if (row.key != "clml") continue;
    for (std::string_view names = row.names; !names.empty();) {
      const std::string_view base = take_word(names, ' ');
      if (!base.starts_with(openclml)) continue;
      const std::string_view plain = base.substr(openclml.size());
      if (!name.ends_with(plain)) continue;
      std::string_view rest = name.substr(openclml.size());
      rest.remove_suffix(plain.size());
      std::vector<std::string_view> fusions;
      bool is_known = rest.empty() || rest.back() == '.';
      while (is_known && !rest.empty()) {
        const std::string_view word = take_word(rest, '.');
        is_known = has_word(row.fusions, word) && std::ranges::find(fusions, word) == fusions.end();
        fusions.insert(fusions.begin(), word);
      }
      if (is_known) return OperatorMatch{&row, base, std::move(fusions)};
    }
  }
  return {};
}

}  // namespace

std::span<const OperatorRow> operator_rows() { return rows; }

std::span<const IgnoredAttributes> ignored_attributes() { return ignored; }

std::optional<OperatorMatch> find_operator(std::string_view key, std::string_view name) {
  for (const auto& [of, prefix] : prefixes) {
    if (of == key && name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (key == "clml" && name.starts_with(openclml)) return find_openclml(name);
  for (const OperatorRow& row : rows) {
    if (row.key != key) continue;
    std::string_view names = row.names;
    while (!names.empty()) {
      const std::string_view base = take_word(names, ' ');
      if (!name.starts_with(base)) continue;
      const std::string_view rest = name.substr(base.size());
      if (!rest.empty() && rest.front() != '_') continue;
      if (auto fusions = read_fusions(row, rest)) return OperatorMatch{&row, base, *fusions};
    }
  }
  return {};
}

}  // namespace gantry::dnnl_plugin
