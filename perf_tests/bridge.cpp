// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A few C functions around portops' calls by name, so that compare_with_pytorch.py and check_with_pytorch.py can run
// portops and PyTorch in one process, on the same memory and stream.

#include <portops/core/context.hpp>
#include <portops/core/levels.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
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

/// Sets the argument to what `value` returns. Returns 1, or 0 with a message in portops_bridge_error.
template <class F>
int set(void* arguments, const char* name, F&& value) {
  return guarded([&] {
    static_cast<portops::Arguments*>(arguments)->set(name, value());
    return 1;
  });
}

}  // namespace

extern "C" {

const char* portops_bridge_error() { return last_error.c_str(); }

void* portops_bridge_context(int backend, void* cuda_stream) {
  return guarded([&] {
    if (!runtime) runtime = std::make_unique<portops::Runtime>();
    return new portops::Context(static_cast<portops::Backend>(backend), cuda_stream);
  });
}

/// `math` is a portops::Math.
void portops_bridge_set_context(void* context, int math, int deterministic) {
  static_cast<portops::Context*>(context)->math(static_cast<portops::Math>(math)).deterministic(deterministic != 0);
}

/// `products` is a portops::Products.
void portops_bridge_set_products(void* context, int products) {
  static_cast<portops::Context*>(context)->products(static_cast<portops::Products>(products));
}

void portops_bridge_finish() { runtime.reset(); }

/// The arguments of a call, none of them set yet, until portops_bridge_delete_arguments.
void* portops_bridge_arguments() {
  return guarded([] { return new portops::Arguments; });
}

void portops_bridge_delete_arguments(void* arguments) { delete static_cast<portops::Arguments*>(arguments); }

/// `type` is a portops::ElementType, `space` a portops::MemorySpace. Extents and strides are `rank` each.
int portops_bridge_set_tensor(void* arguments, const char* name, void* data, int type, int space, int rank,
                              const std::int64_t* extents, const std::int64_t* strides) {
  return set(arguments, name, [&] {
    const auto axes = [&](const std::int64_t* values) {
      return portops::Extents(std::span(values, static_cast<std::size_t>(rank)));
    };
    return portops::TensorOrNumber(portops::TensorRef(data, static_cast<portops::ElementType>(type), axes(extents),
                                                      axes(strides), static_cast<portops::MemorySpace>(space)));
  });
}

/// A list of so many tensors of one rank: extents and strides are those of the first, then of the second …
int portops_bridge_set_list(void* arguments, const char* name, int count, void* const* data, int type, int space,
                            int rank, const std::int64_t* extents, const std::int64_t* strides) {
  return guarded([&] {
    std::vector<portops::TensorRef> list;
    for (int k = 0; k < count; ++k) {
      const auto axes = [&](const std::int64_t* values) {
        return portops::Extents(std::span(values + k * rank, static_cast<std::size_t>(rank)));
      };
      list.emplace_back(data[k], static_cast<portops::ElementType>(type), axes(extents), axes(strides),
                        static_cast<portops::MemorySpace>(space));
    }
    static_cast<portops::Arguments*>(arguments)->set(name, std::span<const portops::TensorRef>(list));
    return 1;
  });
}

/// The levels of a list that was set, of one level each: offsets are `each` of the first, then of the second …
int portops_bridge_set_list_levels(void* arguments, const char* name, const std::int64_t* offsets, int each) {
  return guarded([&] {
    auto& given = *static_cast<portops::Arguments*>(arguments);
    std::vector<portops::RaggedRef> list;
    if (const auto* const tensors = given.list(name)) {
      for (const portops::TensorRef& tensor : *tensors) {
        list.push_back({tensor, portops::Levels({std::vector<std::int64_t>(offsets, offsets + each)})});
        offsets += each;
      }
    }
    given.set(name, std::span<const portops::RaggedRef>(list));
    return 1;
  });
}

int portops_bridge_set_boolean(void* arguments, const char* name, int value) {
  return set(arguments, name, [&] { return value != 0; });
}

int portops_bridge_set_integer(void* arguments, const char* name, std::int64_t value) {
  return set(arguments, name, [&] { return value; });
}

/// An attribute, or an input that may be a number.
int portops_bridge_set_number(void* arguments, const char* name, double value) {
  return set(arguments, name, [&] { return value; });
}

int portops_bridge_set_integers(void* arguments, const char* name, const std::int64_t* values, int count) {
  return set(arguments, name, [&] { return portops::Attribute(std::vector<std::int64_t>(values, values + count)); });
}

int portops_bridge_set_text(void* arguments, const char* name, const char* value) {
  return set(arguments, name, [&] { return portops::Attribute(std::string(value)); });
}

/// One level of offsets.
int portops_bridge_set_levels(void* arguments, const char* name, const std::int64_t* offsets, int count) {
  return set(arguments, name, [&] { return portops::Levels({std::vector<std::int64_t>(offsets, offsets + count)}); });
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
