// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/handles.hpp"
#include "c_api/runtime.hpp"
#include "c_api/status.hpp"
#include "core/types/fail.hpp"

#include <mutex>

using portops::Context;
using portops::impl::fail;
using portops::impl::guarded;

namespace {

static_assert(PORTOPS_BACKEND_SERIAL == static_cast<int>(portops::Backend::serial) &&
              PORTOPS_BACKEND_OPENMP == static_cast<int>(portops::Backend::openmp) &&
              PORTOPS_BACKEND_CUDA == static_cast<int>(portops::Backend::cuda));
static_assert(PORTOPS_MATH_IEEE == static_cast<int>(portops::Math::ieee) &&
              PORTOPS_MATH_TF32 == static_cast<int>(portops::Math::tf32));
static_assert(PORTOPS_PRODUCTS_AUTOMATIC == static_cast<int>(portops::Products::automatic) &&
              PORTOPS_PRODUCTS_OWN == static_cast<int>(portops::Products::own) &&
              PORTOPS_PRODUCTS_KOKKOS_KERNELS == static_cast<int>(portops::Products::kokkos_kernels));

/// Calls that are under way keep the context as it was when they began. Those that set something come one by one: none
/// is to undo what another one does.
template <class Change>
void set_option(const char* where, portops_context ctx, const Change& change) {
  static std::mutex& one_by_one = *new std::mutex;
  const std::lock_guard lock(one_by_one);
  auto changed = std::make_shared<Context>(*portops::impl::object_of(where, "ctx", ctx));
  change(*changed);
  portops::impl::replace(where, "ctx", ctx, std::shared_ptr<const Context>(std::move(changed)));
}

/// Writes what `get` says of the context.
template <class Value, class Get>
portops_status get_option(const char* where, portops_context ctx, const char* name, Value* value, const Get& get) {
  return guarded([&] {
    portops::impl::check_pointer(where, name, value);
    *value = static_cast<Value>(get(*portops::impl::object_of(where, "ctx", ctx)));
  });
}

}  // namespace

portops_status portops_context_create(portops_backend backend, void* cuda_stream, portops_context* ctx) {
  return guarded([&] {
    constexpr const char* where = "portops_context_create";
    portops::impl::check_pointer(where, "ctx", ctx);
    if (backend < PORTOPS_BACKEND_SERIAL || backend > PORTOPS_BACKEND_CUDA) {
      fail(where, ": backend is ", backend, ", expected 0 (serial), 1 (openmp) or 2 (cuda)");
    }
    portops::impl::start_runtime();
    *ctx = portops::impl::make_handle<portops_context>(
        std::make_shared<const Context>(static_cast<portops::Backend>(backend), cuda_stream));
  });
}

portops_status portops_context_destroy(portops_context ctx) {
  return guarded([&] { portops::impl::destroy("portops_context_destroy", "ctx", ctx); });
}

portops_status portops_context_backend(portops_context ctx, portops_backend* backend) {
  return get_option("portops_context_backend", ctx, "backend", backend, [](const Context& c) { return c.backend(); });
}

portops_status portops_context_fence(portops_context ctx) {
  return guarded([&] { portops::impl::object_of("portops_context_fence", "ctx", ctx)->fence(); });
}

portops_status portops_context_set_deterministic(portops_context ctx, int64_t on) {
  return guarded([&] {
    constexpr const char* where = "portops_context_set_deterministic";
    const bool is_on = portops::impl::checked_boolean(where, "on", on);
    set_option(where, ctx, [&](Context& changed) { changed.deterministic(is_on); });
  });
}

portops_status portops_context_deterministic(portops_context ctx, int64_t* on) {
  return get_option("portops_context_deterministic", ctx, "on", on, [](const Context& c) { return c.deterministic(); });
}

portops_status portops_context_set_math(portops_context ctx, portops_math math) {
  return guarded([&] {
    constexpr const char* where = "portops_context_set_math";
    if (math != PORTOPS_MATH_IEEE && math != PORTOPS_MATH_TF32) {
      fail(where, ": math is ", math, ", expected 0 (ieee) or 1 (tf32)");
    }
    set_option(where, ctx, [&](Context& changed) { changed.math(static_cast<portops::Math>(math)); });
  });
}

portops_status portops_context_math(portops_context ctx, portops_math* math) {
  return get_option("portops_context_math", ctx, "math", math, [](const Context& c) { return c.math(); });
}

portops_status portops_context_set_products(portops_context ctx, portops_products products) {
  return guarded([&] {
    constexpr const char* where = "portops_context_set_products";
    if (products < PORTOPS_PRODUCTS_AUTOMATIC || products > PORTOPS_PRODUCTS_KOKKOS_KERNELS) {
      fail(where, ": products is ", products, ", expected 0 (automatic), 1 (own) or 2 (kokkos_kernels)");
    }
    set_option(where, ctx, [&](Context& changed) { changed.products(static_cast<portops::Products>(products)); });
  });
}

portops_status portops_context_products(portops_context ctx, portops_products* products) {
  return get_option("portops_context_products", ctx, "products", products,
                    [](const Context& c) { return c.products(); });
}

portops_status portops_context_set_workspace(portops_context ctx, void* data, size_t bytes) {
  return guarded([&] {
    constexpr const char* where = "portops_context_set_workspace";
    if (data == nullptr && bytes > 0) fail(where, ": data is NULL, expected ", bytes, " bytes");
    set_option(where, ctx, [&](Context& changed) { changed.workspace({data, bytes}); });
  });
}

portops_status portops_context_workspace(portops_context ctx, void** data, size_t* bytes) {
  return guarded([&] {
    constexpr const char* where = "portops_context_workspace";
    portops::impl::check_pointer(where, "data", data);
    portops::impl::check_pointer(where, "bytes", bytes);
    const portops::Workspace workspace = portops::impl::object_of(where, "ctx", ctx)->workspace();
    *data = workspace.data;
    *bytes = workspace.bytes;
  });
}
