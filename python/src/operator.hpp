// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/levels.hpp>
#include <portops/core/registry.hpp>

#include <nanobind/nanobind.h>

#include <string>

namespace portops::python {

namespace nb = nanobind;

/// A ragged tensor: an array whose rows are divided into sequences.
struct RaggedArray {
  nb::object values;
  Levels levels;
};

/// An operator as Python calls it: with the inputs, attributes and outputs of the schema, in this order, and options.
/// None is an argument that is not given. An output may be an array to write to, True for one that is wanted and
/// False for one that is not; None stands for what is usually wanted: of gradients all, else what is not optional.
class Operator {
 public:
  /// With `in_autograd` PyTorch's tensors may want gradients: who calls sees to them. The context of a call is then
  /// what holds for PyTorch as a whole, and one around the call goes before it.
  Operator(const std::string& name, bool in_autograd);

  const OperatorInfo& info() const { return info_; }

  /// Gives the outputs, as a tuple where the schema has several: arrays of the library of the first array given, None
  /// for what is not wanted. Throws Error.
  nb::object call(nb::args arguments) const;

 private:
  const OperatorInfo& info_;
  bool in_autograd_;
};

void bind_operators(nb::module_& m);

}  // namespace portops::python
