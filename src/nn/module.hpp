// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portops::nn {

using autograd::Variable;

/// A tensor that a network, an optimizer or a generator keeps, under the name that it has in files.
struct NamedVariable {
  std::string name;
  Variable variable;
};

using State = std::vector<NamedVariable>;

/// Appends what `part` holds to `state`, with the prefix before each name: append(all, "model.", network.state()).
/// Throws Error where a name occurs twice.
PORTOPS_EXPORT void append(State& state, std::string_view prefix, const State& part);

class Module;

/// What a module consists of, as its `describe` tells it: its own parameters, then its buffers, then the modules in it.
/// Names are those of PyTorch, so that files pass from one to the other.
class Members {
 public:
  /// Of which a gradient is usually wanted. An empty variable is passed over.
  PORTOPS_EXPORT Members& parameter(std::string_view name, const Variable& variable);
  /// Of which none is: running statistics.
  PORTOPS_EXPORT Members& buffer(std::string_view name, const Variable& variable);
  /// A name that PyTorch's files may have here and that nothing is done with.
  PORTOPS_EXPORT Members& unused(std::string_view name);
  /// The names in it get the prefix `name.`.
  PORTOPS_EXPORT Members& module(std::string_view name, Module& module);
  /// A range of modules of one type: `name.0.`, `name.1.`, …
  template <class Range>
  Members& modules(std::string_view name, Range& range) {
    std::size_t number = 0;
    for (auto& each : range) module(std::string(name) + "." + std::to_string(number++), each);
    return *this;
  }

 private:
  friend class Module;
  struct Member {
    NamedVariable its;
    bool is_parameter;
  };
  void add(std::string_view name, const Variable& variable, bool is_parameter);

  std::string prefix_;
  std::vector<Member> all_;
  std::vector<std::string> unused_;
  std::vector<Module*> modules_;
};

/// A batch of which several processes have a share each: how a module hears of what the others have, where it computes
/// something of the whole batch. Module::share_batch gives it to modules; portops::comm has the one of its processes.
///
/// All processes make the same calls, in the same order, from one thread at a time.
class SharedBatch {
 public:
  SharedBatch() = default;
  virtual ~SharedBatch() = default;
  SharedBatch(const SharedBatch&) = delete;
  SharedBatch& operator=(const SharedBatch&) = delete;

  /// How many processes there are.
  virtual int size() const = 0;
  /// all[p · n + i] is number i of process p's n numbers. Waits for all of them, not for a device.
  virtual void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) const = 0;
  /// all, [size, …], has the processes' x, […], one behind the other. Both are contiguous, and lie where the context's
  /// backend reaches them. Enqueued as every other call.
  virtual void gather(const Context& ctx, const TensorRef& x, const TensorRef& all) const = 0;
};

/// A part of a network: what has parameters. A network is a module whose members are modules; how it computes is its
/// own affair, a function of any name and arguments. Copies share their parameters.
///
///     struct Network : nn::Module {
///       Network(const Context& ctx, nn::Generator& random)
///           : conv(ctx, random, 1, 32, {3, 3}, {.padding = {1, 1}}), norm(ctx, 32) {}
///       Variable operator()(const Context& ctx, const Variable& x) { return ag::relu(ctx, norm(ctx, conv(ctx, x))); }
///       void describe(nn::Members& members) override { members.module("conv", conv).module("norm", norm); }
///       nn::Conv2d conv;
///       nn::BatchNorm2d norm;
///     };
class Module {
 public:
  virtual ~Module() = default;

  /// Names all members.
  virtual void describe(Members& members) = 0;

  /// Of this and all modules in it, in their order. A parameter of several names, which modules share, is there once,
  /// under the first of them, as in torch.nn.Module.named_parameters. Throws Error where a name occurs twice.
  PORTOPS_EXPORT State parameters();
  /// Parameters and buffers, under all their names: what a file of the network has.
  PORTOPS_EXPORT State state();
  /// The names that a file may have besides.
  PORTOPS_EXPORT std::vector<std::string> unused();

  /// Whether this and all modules in it are being trained, which they are at first, or evaluated.
  PORTOPS_EXPORT void train(bool on = true);
  bool is_training() const { return is_training_; }

  /// Whether what this and all modules in it are trained with is a share of a batch, others of which other processes
  /// have: BatchNorm2d then normalises by the statistics of the whole one. Null, as at first: it is all there is.
  PORTOPS_EXPORT void share_batch(const std::shared_ptr<const SharedBatch>& batch);

  /// Gives up the gradients of all parameters.
  PORTOPS_EXPORT void clear_grads();

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  const std::shared_ptr<const SharedBatch>& shared_batch() const { return shared_batch_; }

 private:
  bool is_training_ = true;
  std::shared_ptr<const SharedBatch> shared_batch_;
};

}  // namespace portops::nn
