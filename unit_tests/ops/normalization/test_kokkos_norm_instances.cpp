// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_norm_call.hpp"
#include "layer_norm_call.hpp"
#include "support/kokkos_support.hpp"
#include "support/sanitized.hpp"

// batch_norm, layer_norm and their gradients on instances other than the default one.

namespace portops::test {
namespace {

/// Of other numbers of threads, where there are threads.
template <class Space>
std::vector<Context> other_instances() {
  std::vector<Context> contexts;
  contexts.emplace_back(new_instance<Space>());
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) {
    for (const int threads : {1, 2, 3, 5}) contexts.emplace_back(Kokkos::OpenMP(threads));
  }
#endif
  return contexts;
}

/// That a call has the bits there that it has on the default instance.
template <class Call, class Space, class Place>
void check_instances(const Extents& extents, const Place& place, Layout layout) {
  const Context whole{Space()};
  Call expected(whole, extents, place, layout);
  expected.run();
  int instance = 0;
  for (const Context& ctx : other_instances<Space>()) {
    Call call(ctx, extents, place, layout);
    call.run();
    call.expect_same_bits_as(expected, extents.to_string() + " on instance " + std::to_string(instance++));
  }
}

template <class Space>
class NormInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(NormInstancesTest, Spaces);

TYPED_TEST(NormInstancesTest, give_a_batch_norm_the_same_bits) {
  skip_where_sanitized();
  using Space = TypeParam;
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Extents& extents : {Extents{9, 6, 50, 33}, Extents{70, 6, 7, 7}, Extents{4001, 40}}) {
        check_instances<BatchNormCall<T>, Space>(extents, name, Layout::contiguous);
        check_instances<BatchNormCall<T>, Space>(extents, name, Layout::reversed);
      }
    }
  });
}

TYPED_TEST(NormInstancesTest, give_a_layer_norm_the_same_bits) {
  skip_where_sanitized();
  using Space = TypeParam;
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{1, 90001}, Extents{3, 30001}, Extents{3000, 33}, Extents{64, 660}}) {
      check_instances<LayerNormCall<T>, Space>(extents, 1, Layout::contiguous);
      check_instances<LayerNormCall<T>, Space>(extents, 1, Layout::reversed);
    }
  });
}

}  // namespace
}  // namespace portops::test
