// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/dispatch.hpp"
#include "core/exec/spaces.hpp"
#include "harness.hpp"

#include <portops/ops/lerp.hpp>
#include <portops/ops/p_norm.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_nrm2.hpp>

namespace portops::perf {
namespace {

constexpr double weight = 0.3;

template <Backend B, class T>
auto vector_of(const Tensor& tensor) {
  using Space = impl::SpaceOf<B>;
  using Memory = Kokkos::Device<Space, typename Space::memory_space>;
  return Kokkos::View<T*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
      tensor.data<T>(), static_cast<std::size_t>(tensor.ref().extents().product()));
}

template <Backend B, class T>
void register_type(ElementType type, std::int64_t count) {
  using Space = impl::SpaceOf<B>;  // whose default instance is that of the contexts
  const Extents extents{count};
  const std::string of_type = std::string(name_of(type)) + "/" + std::to_string(count);
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  const std::string lerp_name = "lerp/" + of_type + "/w:0.3", norm_name = "p_norm/" + of_type + "/asvector/p:2";
  const std::string peer = "/peer:kokkos_kernels";

  register_case(B, {lerp_name, 3 * bytes, [=](const Context& ctx) -> Call {
                      const Tensor x = random_tensor(ctx, type, extents), y = random_tensor(ctx, type, extents);
                      const Tensor out(type, extents, x.ref().space());
                      return [=] { lerp(ctx, x, y, weight, out); };
                    }});
  register_case(B, {lerp_name + peer, 3 * bytes, [=](const Context& ctx) -> Call {
                      const Tensor x = random_tensor(ctx, type, extents), y = random_tensor(ctx, type, extents);
                      return [=] {
                        KokkosBlas::axpby(Space(), T(1 - weight), vector_of<B, const T>(x), T(weight),
                                          vector_of<B, T>(y));
                      };
                    }});
  register_case(B, {norm_name, bytes, [=](const Context& ctx) -> Call {
                      const Tensor x = random_tensor(ctx, type, extents);
                      const Tensor out(type, Extents{}, x.ref().space());
                      PNormParams params;
                      params.asvector = true;
                      return [=] { p_norm(ctx, x, out, params); };
                    }});
  register_case(B, {norm_name + peer, bytes, [=](const Context& ctx) -> Call {
                      const Tensor x = random_tensor(ctx, type, extents);
                      const Tensor out(type, Extents{}, x.ref().space());
                      const Kokkos::View<T, Kokkos::Device<Space, typename Space::memory_space>,
                                         Kokkos::MemoryTraits<Kokkos::Unmanaged>>
                          result(out.data<T>());
                      return [=] { KokkosBlas::nrm2(Space(), result, vector_of<B, const T>(x)); };
                    }});
}

/// What Kokkos Kernels has of its own: cases of portops and, with `/peer:kokkos_kernels` at the end of their names, its
/// functions on the same tensors. `axpby` overwrites y, and moves as much as lerp.
void register_cases(Backend backend) {
  impl::dispatch_backend(backend, [&]<Backend B>() {
    for (const std::int64_t count : {1000000, 30000000}) {
      register_type<B, float>(ElementType::f32, count);
      register_type<B, double>(ElementType::f64, count);
    }
  });
}

const Benchmarks benchmarks("kokkos_kernels", register_cases);

}  // namespace
}  // namespace portops::perf
