// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/cublas_names.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/spaces.hpp"

#include <array>
#include <mutex>
#include <vector>

namespace portops::blas {
namespace {

cublasHandle_t make_handle() {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  // Halves are rounded once: partial sums stay in f32, also where several blocks share the inner axis.
  check(cublasSetMathMode(
            handle, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode");
  return handle;
}

/// The handles that no call is using, for each device. Making one allocates and so waits for the device; there are as
/// many as host threads have ever called at once.
struct IdleHandles {
  std::mutex mutex;
  std::array<std::vector<cublasHandle_t>, 64> of_device;

  IdleHandles() {
    Kokkos::push_finalize_hook([this] {
      const std::lock_guard lock(mutex);
      for (auto& handles : of_device) {
        for (const cublasHandle_t handle : handles) cublasDestroy(handle);
        handles.clear();
      }
    });
  }
};

/// Never destroyed, so that it does not matter when Kokkos is finalised.
IdleHandles& idle_handles() {
  static IdleHandles& handles = *new IdleHandles;
  return handles;
}

/// A handle that belongs to this call alone while it lives. The call sets its stream and workspace, so that it carries
/// nothing over to the next.
class Handle {
 public:
  explicit Handle(int device) : device_(static_cast<std::size_t>(device)) {
    IdleHandles& idle = idle_handles();
    {
      const std::lock_guard lock(idle.mutex);
      auto& handles = idle.of_device.at(device_);
      if (!handles.empty()) {
        handle_ = handles.back();
        handles.pop_back();
        return;
      }
    }
    handle_ = make_handle();
  }
  ~Handle() {
    IdleHandles& idle = idle_handles();
    const std::lock_guard lock(idle.mutex);
    idle.of_device[device_].push_back(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  operator cublasHandle_t() const { return handle_; }  // NOLINT: for calls of cuBLAS

 private:
  std::size_t device_;
  cublasHandle_t handle_ = nullptr;
};

/// Computes transpose(c) = transpose(op(b)) · transpose(op(a)): cuBLAS counts down the columns.
template <class Scalar>
cublasStatus_t multiply(cublasHandle_t handle, const Product& p, Math math) {
  const auto alpha = static_cast<Scalar>(p.alpha);
  const auto beta = static_cast<Scalar>(p.beta);
  const cudaDataType_t type = cublas_name(p.type);
  if (p.batch.count == 1) {
    return cublasGemmEx_64(handle, cublas_name(p.b_transpose), cublas_name(p.a_transpose), p.columns, p.rows, p.inner,
                           &alpha, p.b, type, p.b_stride, p.a, type, p.a_stride, &beta, p.c, cublas_name(p.c_type),
                           p.c_stride, arithmetic(p.type, math), CUBLAS_GEMM_DEFAULT);
  }
  return cublasGemmStridedBatchedEx_64(handle, cublas_name(p.b_transpose), cublas_name(p.a_transpose), p.columns,
                                       p.rows, p.inner, &alpha, p.b, type, p.b_stride, p.batch.b_stride, p.a, type,
                                       p.a_stride, p.batch.a_stride, &beta, p.c, cublas_name(p.c_type), p.c_stride,
                                       p.batch.c_stride, p.batch.count, arithmetic(p.type, math), CUBLAS_GEMM_DEFAULT);
}

}  // namespace

void multiply_by_cublas(const Context& ctx, const Product& product, Workspace workspace) {
  const Kokkos::Cuda& space = impl::instance<Backend::cuda>(ctx);
  // cuBLAS wants the handle's device.
  const impl::CurrentDevice device(ctx);
  const Handle handle(space.cuda_device());
  check(cublasSetStream(handle, space.cuda_stream()), "cublasSetStream");
  // After the stream, which brings cuBLAS's own workspace back: that would be shared by the streams that a handle
  // serves, and make its choice of algorithm, and so the bits, depend on what runs beside.
  check(cublasSetWorkspace(handle, workspace.data, workspace.bytes), "cublasSetWorkspace");
  const cublasStatus_t status = product.type == ElementType::f64 ? multiply<double>(handle, product, ctx.math())
                                                                 : multiply<float>(handle, product, ctx.math());
  check(status, "cublasGemmEx");
}

/// What NVIDIA recommends for cublasSetWorkspace.
std::size_t cublas_workspace(const Context& ctx) {
  return std::size_t{impl::compute_capability(ctx) >= 90 ? 32u : 4u} << 20;
}

}  // namespace portops::blas
