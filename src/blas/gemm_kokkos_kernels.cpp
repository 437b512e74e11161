// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_paths.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <KokkosBlas3_gemm.hpp>

#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#endif

namespace portops::blas {
namespace {

template <class T, class Space>
using Matrix = Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::Device<Space, typename Space::memory_space>,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A matrix of rows `stride` apart, seen as its transpose: columns that far apart.
template <class Space, class T>
Matrix<T, Space> transpose_of(T* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  const Matrix<T, Space> whole(data, static_cast<std::size_t>(stride), static_cast<std::size_t>(rows));
  return Kokkos::subview(whole, std::pair<std::size_t, std::size_t>(0, static_cast<std::size_t>(columns)), Kokkos::ALL);
}

/// op(x), rows × columns, of a matrix that lies in memory as `transpose` says.
template <class Space, class T>
Matrix<T, Space> operand(T* data, Transpose transpose, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  if (transpose == Transpose::yes) std::swap(rows, columns);
  return transpose_of<Space>(data, rows, columns, stride);
}

const char* letter(Transpose transpose) { return transpose == Transpose::yes ? "T" : "N"; }

/// What holds while Kokkos Kernels is called for a context.
template <Backend B>
struct Call {
  explicit Call(const Context& /*ctx*/) {}
};

#if defined(PORTOPS_HAS_CUDA)
/// Kokkos Kernels has one handle of cuBLAS for the whole process, made by the first call on the GPU that is current
/// then, and sets its stream before each product and back after it: of two host threads each could enqueue on the
/// other's stream. The handle takes memory when it is made.
template <>
class Call<Backend::cuda> {
 public:
  explicit Call(const Context& ctx) : lock_(mutex()), device_(ctx) {}

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  std::lock_guard<std::mutex> lock_;
  impl::CurrentDevice device_;
  impl::BesideCaptures beside_;
};
#endif

/// Computes transpose(c) = transpose(op(b)) · transpose(op(a)), all of LayoutLeft. LayoutRight would do without the
/// exchange, but where b and c have one column Kokkos Kernels takes them for vectors without gaps whatever the stride
/// of their rows; in LayoutLeft a column has no gaps.
template <Backend B, class T>
void multiply(const Context& ctx, const Product& p) {
  using Space = impl::SpaceOf<B>;
  for (std::int64_t k = 0; k < p.batch.count; ++k) {
    const T* const a = static_cast<const T*>(p.a) + k * p.batch.a_stride;
    const T* const b = static_cast<const T*>(p.b) + k * p.batch.b_stride;
    T* const c = static_cast<T*>(p.c) + k * p.batch.c_stride;
    KokkosBlas::gemm(impl::instance<B>(ctx), letter(p.b_transpose), letter(p.a_transpose), static_cast<T>(p.alpha),
                     operand<Space>(b, p.b_transpose, p.inner, p.columns, p.b_stride),
                     operand<Space>(a, p.a_transpose, p.rows, p.inner, p.a_stride), static_cast<T>(p.beta),
                     transpose_of<Space>(c, p.rows, p.columns, p.c_stride));
  }
}

}  // namespace

#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
const bool has_host_blas = true;
#else
const bool has_host_blas = false;
#endif
const char* const blas_region = "portops::gemm[kokkos_kernels]";

void multiply_by_blas(const Context& ctx, const Product& product) {
  impl::dispatch(ctx.backend(), product.type, [&]<Backend B, class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      const Call<B> call(ctx);
      try {
        multiply<B, T>(ctx, product);
      } catch (const std::exception& error) {
        impl::fail("portops::gemm: Kokkos Kernels failed: ", error.what());
      }
    }
  });
}

int blas_device() {
#if defined(PORTOPS_HAS_CUDA)
  return Kokkos::Cuda().cuda_device();
#else
  return 0;
#endif
}

}  // namespace portops::blas
