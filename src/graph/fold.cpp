// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/fold.hpp"

#include "graph/call_facts.hpp"
#include "graph/rewrite.hpp"
#include "nn/host_numbers.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace portops::graph {
namespace {

/// How often each value is read, as an operand or as an output.
std::vector<int> uses_of(const Program& program) {
  std::vector<int> uses(program.values().size());
  for (const Call& call : program.calls()) {
    for (const NamedOperand& input : call.inputs) {
      for (const ValueId value : input.operand.values()) ++uses[static_cast<std::size_t>(value.index)];
    }
  }
  for (const ProgramOutput& output : program.outputs()) ++uses[static_cast<std::size_t>(output.value.index)];
  return uses;
}

/// What a fold is about: a call, and the one behind it that it takes in.
class Folds {
 public:
  explicit Folds(const Program& program) : program_(program), uses_(uses_of(program)) {}

  bool is_used(ValueId value) const { return uses_[static_cast<std::size_t>(value.index)] > 0; }
  bool is_constant(const Operand* operand) const {
    return operand == nullptr || (operand->is_value() && program_.value(operand->value()).origin == Origin::constant);
  }
  /// The call that makes the input of another one, where nothing else reads it.
  const Call* source_of(const Call& call, const char* input) const {
    const Operand* operand = call.input(input);
    if (operand == nullptr || !operand->is_value()) return nullptr;
    const ValueInfo& value = program_.value(operand->value());
    if (value.origin != Origin::call || uses_[static_cast<std::size_t>(operand->value().index)] != 1) return nullptr;
    return &program_.calls()[static_cast<std::size_t>(value.call)];
  }

 private:
  const Program& program_;
  std::vector<int> uses_;
};

/// The convolution whose weights take the batch norm in; none where they cannot.
const Call* convolution_before(const Folds& folds, const Call& call) {
  if (call.op != "batch_norm" || !std::get<bool>(call.attributes.at("is_test"))) return nullptr;
  if (std::get<std::string>(call.attributes.at("data_layout")) != "NCHW") return nullptr;
  for (const NamedOperand& output : call.outputs) {
    if (output.name != "out" && folds.is_used(output.operand.value())) return nullptr;
  }
  for (const char* input : {"mean", "variance", "scale", "bias"}) {
    if (!folds.is_constant(call.input(input))) return nullptr;
  }
  const Call* source = folds.source_of(call, "x");
  const bool fits = source != nullptr && is_convolution(*source) && folds.is_constant(source->input("weight")) &&
                    folds.is_constant(source->input("bias"));
  return fits ? source : nullptr;
}

class BatchNormFold {
 public:
  BatchNormFold(const Context& ctx, Rewrite& rewrite, const Call& convolution, const Call& norm)
      : ctx_(ctx), rewrite_(rewrite), convolution_(convolution), norm_(norm) {}

  void run() {
    const ValueInfo& weight = value_of(convolution_, "weight");
    const auto channels = static_cast<std::size_t>(weight.extents[0]);
    std::vector<double> weights = numbers(convolution_, "weight", 0, 0.0);
    std::vector<double> bias = numbers(convolution_, "bias", channels, 0.0);
    const std::vector<double> mean = numbers(norm_, "mean", channels, 0.0);
    const std::vector<double> variance = numbers(norm_, "variance", channels, 1.0);
    const std::vector<double> scale = numbers(norm_, "scale", channels, 1.0);
    const std::vector<double> shift = numbers(norm_, "bias", channels, 0.0);
    // As batch_norm computes with it.
    const double given = std::get<double>(norm_.attributes.at("epsilon"));
    const double epsilon = weight.type == ElementType::f64 ? given : static_cast<double>(static_cast<float>(given));
    const std::size_t taps = channels > 0 ? weights.size() / channels : 0;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const double factor = scale[channel] / std::sqrt(variance[channel] + epsilon);
      for (std::size_t tap = 0; tap < taps; ++tap) weights[channel * taps + tap] *= factor;
      bias[channel] = (bias[channel] - mean[channel]) * factor + shift[channel];
    }
    const std::string& name = rewrite_.from().value(norm_.result("out")).name;
    CallRequest request = rewrite_.request_of(convolution_);
    request.inputs.insert_or_assign("weight", constant(name + ".weight", weight.type, weight.extents, weights));
    request.inputs.insert_or_assign("bias", constant(name + ".bias", weight.type, {weight.extents[0]}, bias));
    rewrite_.replace(norm_.result("out"), rewrite_.to().add_call(request).result("out"));
  }

 private:
  const ValueInfo& value_of(const Call& call, const char* input) const {
    return rewrite_.from().value(call.input(input)->value());
  }
  std::vector<double> numbers(const Call& call, const char* input, std::size_t count, double missing) const {
    if (call.input(input) == nullptr) return std::vector<double>(count, missing);
    const Tensor& elements = value_of(call, input).elements;
    return impl::read_numbers(ctx_, elements);
  }
  ValueId constant(const std::string& name, ElementType type, const Extents& extents,
                   const std::vector<double>& elements) {
    return rewrite_.to().add_constant(rewrite_.free_name(name), impl::make_numbers(ctx_, type, extents, elements));
  }

  const Context& ctx_;
  Rewrite& rewrite_;
  const Call& convolution_;
  const Call& norm_;
};

/// Extents whose only axis of more than one element is `axis`, counted from the last one; and how many these are.
bool is_along(const Extents& extents, int axis_from_last, std::int64_t count) {
  if (extents.rank() < axis_from_last) return false;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const bool is_it = extents.rank() - axis == axis_from_last;
    if (extents[axis] != (is_it ? count : 1)) return false;
  }
  return true;
}

struct BiasFold {
  const Call* product = nullptr;
  ValueId bias;
};

/// What an addition adds to a product that has no bias yet.
BiasFold bias_of(const Program& program, const Folds& folds, const Call& call) {
  if (call.op != "add") return {};
  for (const auto& [product, addend] : {std::pair{"x", "y"}, {"y", "x"}}) {
    const Call* source = folds.source_of(call, product);
    const Operand* operand = call.input(addend);
    if (source == nullptr || operand == nullptr || !operand->is_value()) continue;
    const bool is_linear = source->op == "linear";
    if ((!is_linear && !is_convolution(*source)) || source->input("bias") != nullptr) continue;
    const ValueInfo& result = program.value(source->result("out"));
    const ValueInfo& bias = program.value(operand->value());
    const int rank = result.extents.rank();
    const std::int64_t count = is_linear ? result.extents[rank - 1] : result.extents[1];
    if (program.value(call.result("out")).extents != result.extents || bias.extents.rank() > rank) continue;
    // A bias that is made behind the product is not there yet when it runs.
    if (bias.origin == Origin::call && bias.call > result.call) continue;
    if (is_along(bias.extents, is_linear ? 1 : rank - 1, count)) return {source, operand->value()};
  }
  return {};
}

}  // namespace

Program fold_batch_norms(const Context& ctx, const Program& program) {
  const Folds folds(program);
  std::vector<const Call*> norms(program.calls().size());
  bool is_any = false;
  for (const Call& call : program.calls()) {
    if (const Call* convolution = convolution_before(folds, call)) {
      norms[static_cast<std::size_t>(convolution - program.calls().data())] = &call;
      is_any = true;
    }
  }
  if (!is_any) return program;
  Rewrite rewrite(program);
  for (std::size_t i = 0; i < program.calls().size(); ++i) {
    const Call& call = program.calls()[i];
    if (norms[i] != nullptr) {
      BatchNormFold(ctx, rewrite, call, *norms[i]).run();
    } else if (convolution_before(folds, call) == nullptr) {
      rewrite.take(call);
    }
  }
  return rewrite.finish();
}

Program fold_biases(const Program& program) {
  const Folds folds(program);
  std::vector<const Call*> additions(program.calls().size());
  bool is_any = false;
  for (const Call& call : program.calls()) {
    if (const BiasFold fold = bias_of(program, folds, call); fold.product != nullptr) {
      const Call*& addition = additions[static_cast<std::size_t>(fold.product - program.calls().data())];
      if (addition == nullptr) addition = &call;
      is_any = true;
    }
  }
  if (!is_any) return program;
  Rewrite rewrite(program);
  for (std::size_t i = 0; i < program.calls().size(); ++i) {
    const Call& call = program.calls()[i];
    if (additions[i] != nullptr) {
      ValueId bias = rewrite[bias_of(program, folds, *additions[i]).bias];
      const std::vector<std::int64_t> flat = {-1};
      if (rewrite.to().value(bias).extents.rank() != 1) {
        bias = rewrite.to().call("reshape", {{"x", bias}}, {{"shape", flat}});
        // The name that the program gave it may be that of a call that is still to be taken.
        const std::string& sum = program.value(additions[i]->result("out")).name;
        rewrite.to().rename(bias, rewrite.free_name(sum + ".bias"));
      }
      CallRequest request = rewrite.request_of(call);
      request.inputs.insert_or_assign("bias", bias);
      rewrite.replace(additions[i]->result("out"), rewrite.to().add_call(request).result("out"));
    } else if (bias_of(program, folds, call).product == nullptr) {
      rewrite.take(call);
    }
  }
  return rewrite.finish();
}

}  // namespace portops::graph
