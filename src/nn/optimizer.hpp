// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/registry.hpp"
#include "portops/core/tensor.hpp"
#include "portops/nn/loss_scale.hpp"
#include "portops/nn/module.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace portops::nn {

/// Steps of parameters by their gradients: what Sgd and Adam share. Those of one element type take a step in one kernel
/// of the operators sgd, momentum and adam; rows of tables whose gradient is sparse by sparse_sgd, sparse_momentum and
/// sparse_adam, a call each. Nothing waits, and numbers that change from step to step lie in the backend's memory, so
/// that a captured graph takes one step after the other; but for sparse steps, which are not to be captured.
///
/// 16-bit parameters have a master in f32, in which steps are taken, so that small ones are not lost; parameters are
/// what it is rounded to. It is made of the parameters when the optimizer is. Where something else has changed a
/// parameter since its last step and has said so (Variable::mark_changed; load and broadcast do), the master takes over
/// the elements that are not what it is rounded to: in the next step, which waits for that, and is not to be captured.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Every parameter that has a gradient takes a step; the others stay as they are. Throws Error, before anything is
  /// enqueued, where a sparse gradient meets weight_decay or maximize, which the sparse steps do not have.
  PORTOPS_EXPORT void step(const Context& ctx);
  /// The same where the loss was multiplied by a scale: gradients are divided by it, the step is skipped, on the
  /// device, where a gradient has an Inf or a NaN, and the scale follows. Throws Error also for parameters of f64,
  /// whose loss needs no scale, and for sparse gradients.
  PORTOPS_EXPORT void step(const Context& ctx, LossScale& scale);

  /// From the next step on.
  PORTOPS_EXPORT void set_learning_rate(const Context& ctx, double learning_rate);
  double learning_rate() const { return learning_rate_; }

  /// Gives up the gradients of all parameters.
  PORTOPS_EXPORT void clear_grads();

  /// What a file must have so that further steps are those that would have been taken: moments, or velocities, masters,
  /// powers and the number of steps; not the learning rate. It goes on being this optimizer's.
  PORTOPS_EXPORT State state();

  /// A step of all dense parameters of one element type, for who has it called otherwise than step() does
  /// (portops/graph/training_step.hpp): the operator's input `param`, its attributes, and what else it takes and leaves
  /// in place, `master_param` among it: of the input NAME the new one is the output NAME_out. The learning rate stays.
  struct StepCall {
    struct Kept {
      std::string input;
      State tensors;
      bool is_list;
    };
    std::string op;
    std::map<std::string, Attribute, std::less<>> attributes;
    State parameters;
    NamedVariable learning_rate;
    std::vector<Kept> kept;
  };
  /// Names are those of state(), and learning_rate.TYPE. Throws Error for parameters that want a sparse gradient.
  PORTOPS_EXPORT std::vector<StepCall> step_calls() const;
  /// What step() does before such calls: masters follow what something else has changed. Waits where there is such a
  /// parameter.
  PORTOPS_EXPORT void prepare_step(const Context& ctx);
  /// And after them: the step is counted, and all dense parameters are marked as changed.
  PORTOPS_EXPORT void count_step();

 protected:
  struct Rules {
    std::string op;                                            ///< of dense steps
    std::map<std::string, Attribute, std::less<>> attributes;  ///< its own
    std::vector<std::string> moments;                          ///< what is kept of each parameter, by its inputs' names
    std::vector<std::pair<std::string, double>> powers;        ///< the same of numbers, and their first powers
    bool has_masters = true;
    double weight_decay = 0.0;
    bool maximize = false;
  };
  Optimizer(const Context& ctx, const State& parameters, double learning_rate, const Rules& rules);

  struct SparseStep {
    TensorRef param, rows, values, count;
    std::array<TensorRef, 2> moments;
    std::int64_t number;  ///< which step this is, counted from 1
  };

 private:
  virtual void sparse_step(const Context& ctx, const SparseStep& step) const = 0;

  /// What the parameters of one element type share, in lists.
  struct Step {
    std::vector<TensorRef> param, grad, master;
    std::array<std::vector<TensorRef>, 2> moments;
    std::array<TensorRef, 2> powers;
    TensorRef learning_rate, grad_scale, skip;
  };
  void dense_step(const Context& ctx, const Step& step) const;

  struct Parameter {
    NamedVariable its;
    Tensor master;              ///< empty: none
    std::uint32_t version = 0;  ///< of its memory, when it was last what the master is rounded to
    std::array<Tensor, 2> moments;
  };
  struct Group {
    ElementType type;
    Tensor learning_rate;
    std::array<Tensor, 2> powers;
    std::vector<Parameter> parameters;
  };
  Group& group_of(const Context& ctx, ElementType type);
  void add(const Context& ctx, const NamedVariable& its);
  static void follow_change(const Context& ctx, const Parameter& parameter);
  static void mark_changed(Parameter& parameter);
  void check_sparse(const std::string& parameter, bool has_scale) const;
  void step(const Context& ctx, LossScale* scale);

  double learning_rate_;
  Rules rules_;
  std::vector<Group> groups_;
  std::int64_t steps_ = 0;
};

}  // namespace portops::nn
