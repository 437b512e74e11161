// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/checkpoint.hpp"

#include "autograd/node.hpp"
#include "autograd/scopes.hpp"
#include "core/types/fail.hpp"

#include <mutex>
#include <utility>

namespace portops::autograd {
namespace {

/// Calls are remembered, whatever the scope around says.
class Remembering {
 public:
  Remembering() : before_(std::exchange(impl::scopes().remembers, true)) {}
  ~Remembering() { impl::scopes().remembers = before_; }
  Remembering(const Remembering&) = delete;
  Remembering& operator=(const Remembering&) = delete;

 private:
  bool before_;
};

/// A segment, and what its calls keep: a number each, by which the tensor is found when the segment is called again.
class Frame {
 public:
  Frame(Segment segment, const std::vector<Variable>& inputs) : segment_(std::move(segment)) {
    for (const Variable& input : inputs) {
      const bool is_given = static_cast<bool>(input);
      inputs_.push_back({is_given ? input.data()->value : impl::Value(),
                         is_given ? input.data()->value.memory->version() : 0, input.wants_gradient()});
    }
  }

  std::size_t keep() { return kept_++; }

  Variable find(const Context& ctx, std::size_t number) {
    const std::lock_guard lock(mutex_);
    if (found_.empty() || !found_[number]) compute_again(ctx);
    return std::exchange(found_[number], {});
  }

 private:
  struct Input {
    impl::Value value;
    std::uint32_t version;
    bool wants_gradient;
  };

  void compute_again(const Context& ctx) {
    std::vector<Variable> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto& [value, version, wants_gradient] = inputs_[i];
      if (value.memory != nullptr && value.memory->version() != version) {
        impl::fail("portops::autograd::checkpoint: inputs[", i, "] has been changed in place by ",
                   value.memory->changed_by(), " since the segment was called");
      }
      impl::Edge edge;
      if (wants_gradient) edge.node = std::make_shared<impl::Leaf>(value, false);
      inputs.push_back(value.memory != nullptr ? impl::make_variable(value, std::move(edge)) : Variable());
    }
    found_.clear();
    const Remembering scope;
    const SavedTensorHooks hooks(
        [this](const Context&, const Variable& tensor) {
          found_.push_back(tensor);
          return std::any();
        },
        nullptr);
    segment_(ctx, inputs);
    if (found_.size() == kept_) return;
    impl::fail("portops::autograd::checkpoint: the segment has kept ", found_.size(), " tensors, expected ", kept_,
               ", as when it was called before");
  }

  Segment segment_;
  std::vector<Input> inputs_;  ///< without what they were made from
  std::size_t kept_ = 0;
  std::mutex mutex_;
  std::vector<Variable> found_;  ///< until they are asked for
};

}  // namespace

std::vector<Variable> checkpoint(const Context& ctx, const Segment& segment, const std::vector<Variable>& inputs) {
  const auto frame = std::make_shared<Frame>(segment, inputs);
  const SavedTensorHooks hooks([frame](const Context&, const Variable&) { return std::any(frame->keep()); },
                               [frame](const Context& of_pass, const std::any& number) {
                                 return frame->find(of_pass, std::any_cast<std::size_t>(number));
                               });
  return segment(ctx, inputs);
}

}  // namespace portops::autograd
