// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/products/sum_products_host.hpp"
#include "ops/products/tensor_product_kernels.hpp"

#include <array>
#include <cstdint>
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

/// An item adds up four neighbours of all parts, or one where these are not aligned.
template <class T>
struct AddParts {
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int width = 4, chains = 4;
  struct alignas(16) Sums {
    A of[width];
  };
  struct alignas(width * sizeof(T) < 16 ? width * sizeof(T) : 16) Results {
    T of[width];
  };

  const A* parts;
  std::int64_t count, size;  ///< of parts, and of each
  T* out;
  bool is_aligned;

  AddParts(const void* from, std::int64_t number, std::int64_t elements, void* to)
      : parts(static_cast<const A*>(from)),
        count(number),
        size(elements),
        out(static_cast<T*>(to)),
        is_aligned(elements % width == 0 && reinterpret_cast<std::uintptr_t>(to) % alignof(Results) == 0) {}

  std::int64_t items() const { return is_aligned ? size / width : size; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    if (!is_aligned) {
      A sums[chains] = {};
      for (std::int64_t first = 0; first < count; first += chains) {
        for (int k = 0; k < chains; ++k) {
          if (first + k < count) sums[k] += parts[(first + k) * size + item];
        }
      }
      out[item] = static_cast<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
      return;
    }
    const Sums* const from = reinterpret_cast<const Sums*>(parts) + item;
    Sums sums[chains] = {};
    for (std::int64_t first = 0; first < count; first += chains) {
      for (int k = 0; k < chains; ++k) {
        if (first + k >= count) continue;
        const Sums part = from[(first + k) * (size / width)];
        for (int i = 0; i < width; ++i) sums[k].of[i] += part.of[i];
      }
    }
    Results results;
    for (int i = 0; i < width; ++i) {
      results.of[i] = static_cast<T>((sums[0].of[i] + sums[1].of[i]) + (sums[2].of[i] + sums[3].of[i]));
    }
    reinterpret_cast<Results*>(out)[item] = results;
  }
};

template <Backend B, class T>
void TensorProductKernels<B, T>::add_parts(const Context& ctx, ProductOperator op, const void* parts,
                                           std::int64_t count, const TensorRef& out) {
  const std::string label = "portops::" + std::string(name_of(op)) + "::sum[parts]";
  launch_by_items<B>(ctx, label, AddParts<T>(parts, count, out.size(), out.data()));
}

}  // namespace portops::impl
