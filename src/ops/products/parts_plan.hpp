// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/memory_layout.hpp"
#include "ops/products/gemm_plan.hpp"
#include "ops/products/tensor_product.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace portops::impl {

/// A product whose inner axes do not make one as its operands lie, on GPUs: one product for each position along all of
/// them but one, whose results, the *parts*, are added up. GemmPlan would copy operands to make one axis of several.
class PartsPlan {
 public:
  /// That of a product, where it takes less time than the plan `whole` of it does.
  static std::optional<PartsPlan> find(const Context& ctx, const TensorProduct& product, const GemmPlan& whole);

  std::size_t workspace() const { return layout_.bytes(); }
  void run(const Context& ctx, ProductOperator op, const ProductLabels& labels, void* memory) const;

 private:
  /// With one of the inner axes in each product.
  PartsPlan(const TensorProduct& product, std::size_t inner);

  TensorRef out_;
  std::int64_t count_ = 1;  ///< of parts
  TensorProduct product_;   ///< whose c are the parts, one behind the other, each as `out` lies
  MemoryLayout layout_;
  TemporaryArray parts_, rest_;
};

}  // namespace portops::impl
