// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/join_maxima.hpp"

#include "graph/call_facts.hpp"
#include "graph/layouts.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace portops::graph {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The side of a pool's windows, where it takes maxima of such as JoinedMaxima has, else 0.
int side_of(const Call& pool) {
  const auto numbers = [&](const char* name) { return std::get<Numbers>(pool.attributes.at(name)); };
  const auto both = [](const Numbers& given, std::int64_t is) {
    return std::ranges::all_of(given, [&](auto each) { return each == is; });
  };
  if (std::get<std::string>(pool.attributes.at("pooltype")) != "max") return 0;
  if (std::get<bool>(pool.attributes.at("global_pooling"))) return 0;
  const Numbers kernel = numbers("kernel_size"), stride = numbers("stride"), padding = numbers("padding");
  const std::int64_t side = kernel.front();
  if ((side != 2 && side != 3) || !both(kernel, side) || !both(stride.empty() ? kernel : stride, 2)) return 0;
  // Above, left, below and right, or both for all.
  const Numbers in_front = padding.size() == 4 ? Numbers{padding[0], padding[1]} : padding;
  return both(in_front, side - 2) ? static_cast<int>(side) : 0;
}

class MaximaJoins {
 public:
  explicit MaximaJoins(const PlanFacts& facts) : facts_(facts) {}

  /// Of the batch norm that the step may be.
  std::optional<JoinedMaxima> from(std::size_t norm) const {
    if (!facts_.is_run(norm) || facts_.call_of(norm).op != "batch_norm") return {};
    const std::optional<Forward> forward = forward_of(norm);
    if (!forward) return {};
    // Relu behind the maxima may stand by itself.
    for (const bool with_relu : {true, false}) {
      if (const std::optional<JoinedMaxima> found = found_in(norm, *forward, with_relu)) return found;
    }
    return {};
  }

 private:
  /// The calls behind a batch norm, of which relu comes before or behind the pool, or not at all.
  struct Forward {
    std::optional<std::size_t> relu_before, relu_behind;
    std::size_t pool;
  };

  std::optional<Forward> forward_of(std::size_t norm) const {
    const ValueId out = facts_.call_of(norm).result("out");
    Forward found{reader_of(out, norm, "relu"), {}, norm};
    const std::size_t before = found.relu_before.value_or(norm);
    const auto pool = reader_of(facts_.call_of(before).result("out"), before, "pool2d");
    if (!pool) return {};
    found.pool = *pool;
    if (!found.relu_before) found.relu_behind = reader_of(facts_.call_of(*pool).result("out"), *pool, "relu");
    return found;
  }
  /// The next step, if it is a call of that operator, whose x is the value.
  std::optional<std::size_t> reader_of(ValueId x, std::size_t step, std::string_view op) const {
    const std::optional<std::size_t> next = facts_.next_run(step, op);
    return next && value_of(facts_.call_of(*next).input("x")) == x ? next : std::nullopt;
  }

  std::optional<JoinedMaxima> found_in(std::size_t norm, const Forward& forward, bool with_relu) const {
    if (!with_relu && (forward.relu_before || !forward.relu_behind)) return {};
    const Call& pool = facts_.call_of(forward.pool);
    JoinedMaxima found{.norm = norm, .last = forward.pool, .result = pool.result("out"), .side = side_of(pool)};
    if (with_relu && forward.relu_behind) {
      found.last = *forward.relu_behind;
      found.result = facts_.call_of(found.last).result("out");
    }
    found.has_relu = with_relu && (forward.relu_before || forward.relu_behind);
    const ValueId index = value_of(pool.output("index"));
    std::optional<std::size_t> relu_grad;
    if (index && !facts_.readers(index).empty()) {
      found.index = index;
      found.gradient = gradient_of(norm, forward, found, relu_grad);
      if (!found.gradient) return {};
    }
    if (found.side == 0 || !nobody_else_reads(norm, forward, found, relu_grad) || !lies_well(found)) return {};
    return found;
  }

  /// What undoes the same steps, one behind the other.
  std::optional<JoinedMaxima::Gradient> gradient_of(std::size_t norm, const Forward& forward, const JoinedMaxima& found,
                                                    std::optional<std::size_t>& relu_grad) const {
    const Call &its_norm = facts_.call_of(norm), &pool = facts_.call_of(forward.pool);
    const std::size_t pool_grad = facts_.readers(found.index).front();
    const bool is_alone = facts_.is_read_once(found.index) && facts_.is_run(pool_grad);
    if (!is_alone || !undoes(facts_.call_of(pool_grad), pool)) return {};
    JoinedMaxima::Gradient gradient{pool_grad, pool_grad, {}};
    std::size_t last = pool_grad;
    if (forward.relu_before) {
      relu_grad = facts_.next_run(pool_grad, "relu_grad");
      if (!relu_grad || !goes_on(pool_grad, *relu_grad)) return {};
      last = *relu_grad;
    } else if (found.has_relu) {
      relu_grad = facts_.previous_run(pool_grad, "relu_grad");
      if (!relu_grad || !goes_on(*relu_grad, pool_grad)) return {};
      gradient.first = *relu_grad;
    }
    if (relu_grad) {
      const std::size_t relu = forward.relu_before ? *forward.relu_before : *forward.relu_behind;
      if (value_of(facts_.call_of(*relu_grad).input("out")) != facts_.call_of(relu).result("out")) return {};
    }
    const auto norm_grad = facts_.next_run(last, "batch_norm_grad");
    if (!norm_grad || !goes_on(last, *norm_grad)) return {};
    const Call& grad = facts_.call_of(*norm_grad);
    gradient.norm_grad = *norm_grad;
    gradient.out_grad = value_of(facts_.call_of(gradient.first).input("out_grad"));
    if (found.has_relu) gradient.bias = value_of(grad.input("bias"));
    if (!gradient.out_grad || !is_gradient_of_norm(grad, its_norm)) return {};
    return facts_.is_untouched(gradient.bias, *norm_grad) ? std::optional(gradient) : std::nullopt;
  }
  /// Whether it is the gradient of the same windows.
  static bool undoes(const Call& grad, const Call& pool) {
    return grad.op == "pool2d_grad" && std::ranges::all_of(grad.attributes, [&](const auto& attribute) {
             return attribute.second == pool.attributes.at(attribute.first);
           });
  }
  /// Whether what the one makes of x is the out_grad of the other one, and nothing else's.
  bool goes_on(std::size_t from, std::size_t to) const {
    const ValueId x_grad = value_of(facts_.call_of(from).output("x_grad"));
    return x_grad && facts_.is_read_once(x_grad) && value_of(facts_.call_of(to).input("out_grad")) == x_grad;
  }

  bool nobody_else_reads(std::size_t norm, const Forward& forward, const JoinedMaxima& found,
                         std::optional<std::size_t> relu_grad) const {
    if (!facts_.is_read_once(facts_.call_of(norm).result("out"))) return false;
    if (found.last != forward.pool) return facts_.is_read_once(facts_.call_of(forward.pool).result("out"));
    if (!forward.relu_before) return true;
    const std::vector<std::size_t>& readers = facts_.readers(facts_.call_of(*forward.relu_before).result("out"));
    return std::ranges::all_of(
        readers, [&](std::size_t step) { return step == forward.pool || (relu_grad && step == *relu_grad); });
  }

  /// Whether everything lies as the kernels want it, and nothing is written where something else is still read.
  bool lies_well(const JoinedMaxima& found) const {
    const Call& norm = facts_.call_of(found.norm);
    if (std::get<std::string>(norm.attributes.at("data_layout")) != "NCHW") return false;
    const ValueId x = value_of(norm.input("x"));
    if (!is_packed(x) || !is_packed(found.result)) return false;
    // Pixels that are images lie in rows, too, as programs have them whose bits are those of plain calls; and a single
    // window is no row of a reduction.
    const Extents &pixels = facts_.program().value(x).extents, &windows = facts_.program().value(found.result).extents;
    if (pixels[2] * pixels[3] < 2 || windows[0] * windows[2] * windows[3] < 2) return false;
    if (facts_.writes_over_others(norm, norm.result("out"), found.result)) return false;
    if (!found.index) return true;
    if (!lies_in_arena(found.index) || facts_.writes_over_others(norm, norm.result("out"), found.index)) return false;
    const Call& grad = facts_.call_of(found.gradient->norm_grad);
    if (!is_packed(found.gradient->out_grad) || !is_packed(grad.result("x_grad"))) return false;
    return std::ranges::none_of(grad.outputs, [&](const NamedOperand& output) {
      const ValueId value = output.operand.value();
      return value && (facts_.overlap(value, found.index) || facts_.overlap(value, found.gradient->out_grad));
    });
  }
  /// Images in the arena, channels last, whole packs of them at addresses of packs, 31 bits enough for all.
  bool is_packed(ValueId value) const {
    const ValueInfo& info = facts_.program().value(value);
    const std::int64_t pack = pack_bytes / static_cast<std::int64_t>(size_of(info.type));
    return info.type != ElementType::f64 && info.extents.rank() == 4 && info.extents[1] % pack == 0 &&
           info.extents.product() > 0 && info.extents.product() < INT32_MAX && lies_in_arena(value) &&
           lie_alike(info.extents, facts_.place_of(value).strides, channels_last_strides(info.extents));
  }
  bool lies_in_arena(ValueId value) const {
    const Place& place = facts_.place_of(value);
    return place.memory == MemoryKind::arena && place.offset % pack_bytes == 0;
  }

  static constexpr std::int64_t pack_bytes = 16;

  const PlanFacts& facts_;
};

}  // namespace

std::vector<JoinedMaxima> find_joined_maxima(const PlanFacts& facts) {
  std::vector<JoinedMaxima> all;
  const MaximaJoins joins(facts);
  for (std::size_t step = 0; step < facts.plan().steps.size(); ++step) {
    if (const auto joined = joins.from(step)) all.push_back(*joined);
  }
  return all;
}

}  // namespace portops::graph
