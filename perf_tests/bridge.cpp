// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A few C functions around portops' calls by name, so that compare_with_pytorch.py can time portops and PyTorch in one
// process, on the same memory and stream.

#include <portops/core/context.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace {

std::string last_error;
std::unique_ptr<portops::Runtime> runtime;

/// Runs f; returns what it returned, or null after keeping the message of what it threw.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& error) {
    last_error = error.what();
    return {};
  }
}

}  // namespace

extern "C" {

/// An argument of a call: a tensor, or a number where `data` and `rank` are 0 and `is_number` is not.
struct portops_bridge_argument {
  const char* name;
  void* data;
  std::int32_t type;   // portops::ElementType
  std::int32_t space;  // portops::MemorySpace
  std::int32_t is_number;
  std::int32_t rank;
  std::int64_t extents[portops::max_rank];
  std::int64_t strides[portops::max_rank];
  double number;
};

const char* portops_bridge_error() { return last_error.c_str(); }

void* portops_bridge_context(int backend, void* cuda_stream) {
  return guarded([&] {
    if (!runtime) runtime = std::make_unique<portops::Runtime>();
    return new portops::Context(static_cast<portops::Backend>(backend), cuda_stream);
  });
}

void portops_bridge_finish() { runtime.reset(); }

void* portops_bridge_arguments(const portops_bridge_argument* from, int count) {
  return guarded([&] {
    auto arguments = std::make_unique<portops::Arguments>();
    for (const auto* argument = from; argument != from + count; ++argument) {
      const portops::TensorOrNumber value =
          argument->is_number != 0
              ? portops::TensorOrNumber(argument->number)
              : portops::TensorOrNumber(portops::TensorRef(
                    argument->data, static_cast<portops::ElementType>(argument->type),
                    portops::Extents(std::span(argument->extents, static_cast<std::size_t>(argument->rank))),
                    portops::Extents(std::span(argument->strides, static_cast<std::size_t>(argument->rank))),
                    static_cast<portops::MemorySpace>(argument->space)));
      arguments->set(argument->name, value);
    }
    return arguments.release();
  });
}

/// Enqueues one call. Returns 1, or 0 with a message in portops_bridge_error.
int portops_bridge_run(const char* op, const void* context, const void* arguments) {
  return guarded([&] {
    portops::run(op, *static_cast<const portops::Context*>(context),
                 *static_cast<const portops::Arguments*>(arguments));
    return 1;
  });
}

/// Runs the sets of arguments one after the other, `rounds` times, and returns the seconds that one call took on
/// average until all were done; negative with a message in portops_bridge_error.
double portops_bridge_time(const char* op, const void* context, const void* const* sets, int count, int rounds) {
  const double result = guarded([&] {
    const auto& ctx = *static_cast<const portops::Context*>(context);
    ctx.fence();
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) {
      for (int k = 0; k < count; ++k) portops::run(op, ctx, *static_cast<const portops::Arguments*>(sets[k]));
    }
    ctx.fence();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / (rounds * count);
  });
  return result > 0 ? result : -1.0;
}
}
