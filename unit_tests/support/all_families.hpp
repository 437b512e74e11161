// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/levels.hpp>
#include <portops/core/tensor.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace portops::test {

/// Tensors for a call of every operator, whose outputs do not depend on what was in them.
class AllFamilies {
 public:
  /// `salt` makes the numbers other ones. Allocates, and waits.
  AllFamilies(const Context& ctx, int salt);

  /// The levels that the ragged tensors have: made anew by each call, and equal.
  static Levels make_levels();

  /// Enqueues a forward and a backward call of each operator.
  void call(const Context& ctx, const Levels& levels) const;

  /// Overwrites the outputs, and waits.
  void forget(const Context& ctx);
  /// Waits, and reads the bytes of all outputs.
  std::vector<std::byte> results(const Context& ctx) const;

 private:
  const TensorRef& add(const Context& ctx, const std::string& name, ElementType type, const Extents& extents);
  void input(const Context& ctx, const std::string& name, const Extents& extents, ElementType type = ElementType::f32);
  void index_input(const Context& ctx, const std::string& name, const Extents& extents, std::int64_t height);
  void output(const Context& ctx, const std::string& name, const Extents& extents, ElementType type = ElementType::f32);

  void make_elementwise(const Context& ctx);
  void make_activations(const Context& ctx);
  void make_norms(const Context& ctx);
  void make_lists(const Context& ctx);
  void make_products(const Context& ctx);
  void make_convolutions(const Context& ctx, const std::string& prefix, ElementType type);
  void make_sequences(const Context& ctx);
  void make_sparse_rows(const Context& ctx);
  void call_elementwise(const Context& ctx) const;
  void call_activations(const Context& ctx) const;
  void call_norms(const Context& ctx) const;
  void call_lists(const Context& ctx) const;
  void call_products(const Context& ctx) const;
  void call_convolutions(const Context& ctx, const std::string& prefix) const;
  void call_sequences(const Context& ctx, const Levels& levels) const;
  void call_sparse_rows(const Context& ctx) const;

  const TensorRef& at(const std::string& name) const { return tensors_.at(name).ref(); }

  int salt_;
  std::map<std::string, Tensor> tensors_;
  std::vector<std::string> outputs_;
};

}  // namespace portops::test
