// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/node_reader.hpp"

// Which operators of ONNX have calls of their meaning.

namespace portops::impl {

NodeHandler find_handler(std::string_view op) {
  static const std::map<std::string_view, NodeHandler> handlers = {
      {"Add", read_element_wise},
      {"AveragePool", read_pool},
      {"BatchNormalization", read_batch_normalization},
      {"Cast", read_cast},
      {"Clip", read_clip},
      {"Concat", read_concat},
      {"Constant", read_constant},
      {"ConstantOfShape", read_constant_of_shape},
      {"Conv", read_conv},
      {"DeformConv", read_deform_conv},
      {"Div", read_element_wise},
      {"Dropout", read_dropout},
      {"Erf", read_erf},
      {"Expand", read_expand},
      {"Flatten", read_flatten},
      {"Gather", read_gather},
      {"Gelu", read_activation},
      {"Gemm", read_gemm},
      {"GlobalAveragePool", read_global_pool},
      {"GlobalMaxPool", read_global_pool},
      {"HardSigmoid", read_hard_sigmoid},
      {"HardSwish", read_hard_swish},
      {"Identity", read_identity},
      {"LayerNormalization", read_layer_normalization},
      {"MatMul", read_matmul},
      {"MaxPool", read_pool},
      {"Mul", read_element_wise},
      {"Neg", read_negative},
      {"Pow", read_pow},
      {"Range", read_range},
      {"ReduceL1", read_reduction},
      {"ReduceL2", read_reduction},
      {"ReduceMean", read_reduction},
      {"ReduceSum", read_reduction},
      {"Relu", read_activation},
      {"Reshape", read_reshape},
      {"Shape", read_shape},
      {"Sigmoid", read_activation},
      {"Size", read_size},
      {"Slice", read_slice},
      {"Softmax", read_softmax},
      {"Split", read_split},
      {"Sqrt", read_sqrt},
      {"Squeeze", read_squeeze},
      {"Sub", read_element_wise},
      {"Sum", read_sum_of_several},
      {"Swish", read_swish},
      {"Tanh", read_activation},
      {"Transpose", read_transpose},
      {"Unsqueeze", read_unsqueeze},
  };
  const auto at = handlers.find(op);
  return at != handlers.end() ? at->second : nullptr;
}

}  // namespace portops::impl
