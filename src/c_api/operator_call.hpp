// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "c_api/handles.hpp"
#include "c_api/status.hpp"

#include <portops.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace portops::impl {

/// A call of an operator from C: its arguments, as the C++ function takes them. What they cannot be is refused here,
/// the rest by that function.
class OperatorCall {
 public:
  /// `where` begins the messages, "portops::lerp", and outlives this. Throws HandleError.
  OperatorCall(std::string_view where, portops_context ctx) : where_(where), context_(object_of(where, "ctx", ctx)) {}

  const Context& context() const { return *context_; }

  /// The options with their defaults where the caller gives none, or knows none: it may have been compiled with an
  /// older version of the struct, or a newer one of which it uses nothing.
  template <class Options>
  Options options(const Options* given, const Options& defaults) const {
    Options options = defaults;
    if (given != nullptr) read_options(given, &options, sizeof(Options));
    return options;
  }

  TensorRef tensor(std::string_view name, const DLTensor* tensor) const;
  TensorOrNumber operand(std::string_view name, const portops_operand& operand) const;
  Levels levels(std::string_view name, portops_levels levels) const { return levels_of(where_, name, levels); }
  RaggedRef ragged(std::string_view name, const DLTensor* values, portops_levels levels) const;
  std::vector<TensorRef> list(std::string_view name, const DLTensor* const* tensors, std::size_t count) const;
  std::vector<RaggedRef> ragged_list(std::string_view name, const DLTensor* const* values, std::size_t count,
                                     const portops_levels* levels) const;

  bool boolean(std::string_view name, std::int64_t value) const { return checked_boolean(where_, name, value); }
  std::vector<std::int64_t> integers(std::string_view name, const std::int64_t* items, std::size_t count) const;
  /// The default where `items` is NULL.
  std::vector<std::int64_t> integers(std::string_view name, const std::int64_t* items, std::size_t count,
                                     const std::vector<std::int64_t>& otherwise) const;
  std::string text(std::string_view name, const char* text) const;
  /// The default where `text` is NULL.
  static std::string text(const char* text, const char* otherwise) { return text != nullptr ? text : otherwise; }

 private:
  void read_options(const void* given, void* options, std::size_t known) const;

  std::string_view where_;
  std::shared_ptr<const Context> context_;
};

/// Runs the call of an operator: f(call), where it is given.
template <class F>
portops_status operator_call(std::string_view where, portops_context ctx, const F& f) noexcept {
  return guarded([&] { f(OperatorCall(where, ctx)); });
}

}  // namespace portops::impl
