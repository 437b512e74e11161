// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_fallback.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"

namespace portops::blas {
namespace {

template <Backend B, class T, class C>
void launch(const Context& ctx, const Product& product) {
  static const std::string label = "portops::gemm[fallback]", pack_label = "portops::gemm::b[panels]";
  using Functor = Multiply<B, T, C>;
  const impl::SpaceOf<B>& space = impl::instance<B>(ctx);
  const void* packed = nullptr;
  if (product.kept_b != nullptr) {
    packed = product.kept_b->get(ctx, pack_label, PackColumns<T>{product}.bytes(), [&](void* memory) {
      impl::launch_by_items<B>(ctx, pack_label, PackColumns<T>{product, static_cast<impl::Arithmetic<T>*>(memory)});
    });
  }
  const Functor functor(product, static_cast<const impl::Arithmetic<T>*>(packed), space.concurrency());
  constexpr std::int64_t most_teams = 1 << 30;
  typename Functor::Policy policy(space, static_cast<int>(std::min(functor.tiles(), most_teams)), 1, 1);
  policy.set_scratch_size(1, Kokkos::PerTeam(functor.scratch_bytes() + Functor::alignment));
  Kokkos::parallel_for(label, policy, functor);
}

template <Backend B, class T>
void launch_scale(const Context& ctx, const Product& product) {
  static const std::string label = "portops::gemm[scale]";
  const Scale<T> functor{
      static_cast<T*>(product.c), product.rows,           product.columns,
      product.c_stride,           product.batch.c_stride, static_cast<impl::Arithmetic<T>>(product.beta)};
  Kokkos::parallel_for(label,
                       Kokkos::RangePolicy<impl::SpaceOf<B>, Kokkos::IndexType<std::int64_t>>(
                           impl::instance<B>(ctx), 0, product.batch.count * product.rows * product.columns),
                       functor);
}

}  // namespace

void multiply_by_fallback(const Context& ctx, const Product& product) {
  impl::dispatch(ctx.backend(), product.type, [&]<Backend B, class T>() {
    if constexpr (B != Backend::cuda) {
      if (product.c_type == product.type) {
        launch<B, T, T>(ctx, product);
      } else if constexpr (sizeof(T) == 2) {
        launch<B, T, float>(ctx, product);
      }
    }
  });
}

void scale(const Context& ctx, const Product& product) {
  if (product.beta == 1.0) return;
  impl::dispatch_backend(ctx.backend(), [&]<Backend B>() {
    // Products of 16-bit types are added up in f32 even where a build has no tensors of it.
    if (product.c_type == ElementType::f32) return launch_scale<B, float>(ctx, product);
    impl::dispatch_type(product.c_type, [&]<class T>() { launch_scale<B, T>(ctx, product); });
  });
}

}  // namespace portops::blas
