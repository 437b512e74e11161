// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/program.hpp"

#include <functional>

namespace portops::graph {

/// The tensor that stands for a value in a call.
using TensorOf = std::function<TensorRef(ValueId)>;

/// Sets what an input is given, with the values' levels where the operator knows of them.
void set_input(Arguments& arguments, const Program& program, const InputInfo& input, const Operand& operand,
               const TensorOf& tensor_of);

/// The tensor that stands for a value of an input.
using InputTensorOf = std::function<TensorRef(const InputInfo&, ValueId)>;

/// All arguments of a call; an output whose tensor is empty is left out.
Arguments make_arguments(const Program& program, const Call& call, const InputTensorOf& input_of,
                         const TensorOf& output_of);

}  // namespace portops::graph
