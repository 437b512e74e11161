// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/products/sum_products_host.hpp"
#include "ops/products/tensor_product_kernels.hpp"

#include <array>
#include <string>

namespace portops::impl {

struct SumOfProducts {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = true;
  static constexpr std::array inputs_in_packs{InputSet{0}, InputSet{0, 1}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0] * in[1];
  }
};

template <Backend B, class T>
void TensorProductKernels<B, T>::sum(const Context& ctx, ProductOperator op, const Loop& loop) {
  if constexpr (B != Backend::cuda) {
    if (SumProductsHost<T>::suits(loop)) {
      const std::string label = "portops::" + std::string(name_of(op)) + "::sum[host]";
      return launch_by_items<B>(ctx, label, SumProductsHost<T>(loop));
    }
  }
  const auto labels_of = [](ProductOperator each) { return MapLabels(std::string(name_of(each))); };
  static const std::array labels{labels_of(ProductOperator::matmul), labels_of(ProductOperator::matmul_grad),
                                 labels_of(ProductOperator::linear), labels_of(ProductOperator::linear_grad)};
  map<B, T>(ctx, labels[static_cast<std::size_t>(op)], SumOfProducts{}, loop);
}

}  // namespace portops::impl
