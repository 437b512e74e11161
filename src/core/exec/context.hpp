// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/backend.hpp"
#include "portops/core/macros.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace portops {

/// The arithmetic that matrix products may use for f32 operands: `ieee` has the error of f32 accumulation, `tf32` may
/// round the operands to 11 significant bits. Operators without matrix products are always `ieee`.
enum class Math : std::uint8_t { ieee, tf32 };

/// Who computes the matrix products inside of operators:
/// - `own`: portops, with kernels of its own, and cuBLAS on GPUs.
/// - `kokkos_kernels`: Kokkos Kernels, `KokkosBlas::gemm`, on every backend, by the BLAS that it was built with or by
///   its own kernels. It multiplies f64 and f32, with the error of that BLAS (`Math::tf32` changes nothing), and
///   promises no order of additions. So an operator with matrix products throws Error, before anything is enqueued,
///   where this is asked for with tensors of 16-bit types, in deterministic mode, in a build without Kokkos Kernels, or
///   on another GPU than Kokkos' own. Products with an extent or a stride of 2^31 and more are computed as with `own`.
/// - `automatic`: whichever was measured to be the faster one for the operator, and can do what the context asks for.
/// Operators without matrix products do not look at it.
enum class Products : std::uint8_t { automatic, own, kokkos_kernels };

/// "automatic", "own" or "kokkos_kernels".
PORTOPS_EXPORT std::string_view name_of(Products products);

/// Memory that a caller lends to a call for its temporaries, reachable by the context's backend and aligned to 256
/// bytes. It must stay untouched until the call has finished on the device.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Specialise this to make an execution-space instance convert to Context:
/// `static constexpr Backend backend` says where it runs. <portops/core/kokkos.hpp> does it for Kokkos' instances.
template <class Space>
struct ExecutionSpaceAdapter;

template <class Space>
concept AdaptableExecutionSpace = requires {
  { ExecutionSpaceAdapter<Space>::backend } -> std::convertible_to<Backend>;
};

/// The options of a context that sets none of its own. They are read from the environment, once a process:
///
///   PORTOPS_DETERMINISTIC   1 or 0, which is the default
///   PORTOPS_MATH            tf32 or ieee, which is the default
///   PORTOPS_PRODUCTS        own, kokkos_kernels or automatic, which is the default
struct ContextDefaults {
  bool deterministic = false;
  Math math = Math::ieee;
  Products products = Products::automatic;
};

/// Throws Error where one of the variables has another value.
PORTOPS_EXPORT const ContextDefaults& context_defaults();

/// Where and how a call runs: an execution-space instance and the options of the call. Every operator takes it first;
/// the call enqueues on the instance and returns.
class Context {
 public:
  /// A Kokkos execution-space instance, kept (shared) for as long as this context. Throws Error where
  /// context_defaults does.
  template <AdaptableExecutionSpace Space>
  Context(const Space& space)  // NOLINT: implicit by design
      : backend_(ExecutionSpaceAdapter<Space>::backend), instance_(std::make_shared<const Space>(space)) {}

  /// For applications compiled without Kokkos: the backend's own first instance, or, for cuda, the given
  /// `cudaStream_t`, which is not given up: it must live as long as this context and its copies. For a stream Kokkos
  /// allocates memory, and its end waits for the device: such a context is made once, not for every call. Throws Error
  /// when the backend is not compiled in, or before portops::Runtime (or Kokkos itself) is initialised, or where
  /// context_defaults does.
  PORTOPS_EXPORT explicit Context(Backend backend, void* cuda_stream = nullptr);

  Backend backend() const { return backend_; }

  /// The same bits on every run and for any number of threads. Off, unless the environment says otherwise.
  Context& deterministic(bool on) { return deterministic_ = on, *this; }
  bool deterministic() const { return deterministic_; }

  Context& math(Math math) { return math_ = math, *this; }
  Math math() const { return math_; }

  Context& products(Products products) { return products_ = products, *this; }
  Products products() const { return products_; }

  /// Lends memory for the temporaries of the calls that use this context. Without it they come from a pool of the
  /// library's own.
  Context& workspace(Workspace workspace) { return workspace_ = workspace, *this; }
  Workspace workspace() const { return workspace_; }

  /// Waits until everything enqueued on the instance is done. Throws Error if the device failed: a GPU cannot be used
  /// any more then in this process, whose further calls may end it.
  PORTOPS_EXPORT void fence() const;

  /// The execution-space instance, of the type that backend() names.
  const void* instance() const { return instance_.get(); }

 private:
  Backend backend_;
  bool deterministic_ = context_defaults().deterministic;
  Math math_ = context_defaults().math;
  Products products_ = context_defaults().products;
  Workspace workspace_;
  std::shared_ptr<const void> instance_;
};

}  // namespace portops
