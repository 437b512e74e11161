// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include "autograd/node.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/check_gradients.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/core/registry.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/divide.hpp>
#include <portops/ops/dropout.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/p_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_softmax.hpp>
#include <portops/ops/sequence_unpad.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/subtract.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/tanh.hpp>
#include <portops/ops/trace.hpp>
#include <portops/ops/transpose.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

// Every operator on variables: its gradients, what it keeps for them, and that remembering changes no bit.

namespace portops::test {
namespace {

using Variables = std::vector<ag::Variable>;

struct CaseInput {
  std::string name;
  Extents extents;
  Levels levels = {};
  double shift = 0.0;
};

/// A call: the inputs that have gradients, by their names in the schema, and what is made of them.
struct OperatorCase {
  std::string op;
  std::vector<CaseInput> inputs;
  std::function<ag::Variable(const Context& ctx, const Variables& inputs)> call;
  /// That the attribute which decides over `no_need_buffer` says that the elements are not needed.
  bool needs_no_buffer = true;
};

const Levels levels = Levels::from_lengths({2, 0, 3});

ag::Variable indices(const Context& ctx, const Extents& extents, const std::vector<std::int64_t>& elements) {
  return tensor_of(ctx, extents, elements);
}

std::vector<OperatorCase> operator_cases() {
  using In = const Variables&;
  using Ctx = const Context&;
  return {
      {"lerp",
       {{"x", {3, 4}}, {"y", {4}}, {"weight", {3, 1}}},
       [](Ctx c, In v) { return ag::lerp(c, v[0], v[1], v[2]); }},
      {"lerp", {{"x", {3, 4}}, {"y", {1, 4}}}, [](Ctx c, In v) { return ag::lerp(c, v[0], v[1], 0.25); }},
      {"add", {{"x", {3, 4}}, {"y", {3, 1}}}, [](Ctx c, In v) { return ag::add(c, v[0], v[1]); }},
      {"add", {{"x", {3, 4}}}, [](Ctx c, In v) { return ag::add(c, v[0], 2); }},
      {"subtract", {{"x", {4}}, {"y", {3, 4}}}, [](Ctx c, In v) { return ag::subtract(c, v[0], v[1]); }},
      {"multiply", {{"x", {3, 4}}, {"y", {3, 1}}}, [](Ctx c, In v) { return ag::multiply(c, v[0], v[1]); }},
      {"multiply", {{"x", {3, 4}}}, [](Ctx c, In v) { return ag::multiply(c, v[0], 2.5); }},
      {"divide", {{"x", {3, 4}}, {"y", {4}}}, [](Ctx c, In v) { return ag::divide(c, v[0], v[1]); }},
      {"relu", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::relu(c, v[0]); }},
      {"clip", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::clip(c, v[0], {.min = 0.0, .max = 0.5}); }},
      {"gelu", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::gelu(c, v[0]); }},
      {"gelu", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::gelu(c, v[0], {.approximate = "tanh"}); }},
      {"hard_sigmoid",
       {{"x", {3, 4}, {}, -1.0}},
       [](Ctx c, In v) { return ag::hard_sigmoid(c, v[0], {.slope = 0.7}); }},
      {"hard_swish", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::hard_swish(c, v[0]); }},
      {"silu", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::silu(c, v[0]); }},
      {"sigmoid", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::sigmoid(c, v[0]); }},
      {"tanh", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::tanh(c, v[0]); }},
      {"dropout",
       {{"x", {5, 7}}},
       [](Ctx c, In v) {
         return ag::dropout(c, v[0], {.step = indices(c, {}, {2}), .p = 0.25, .seed = 3, .offset = 5});
       }},
      {"p_norm",
       {{"x", {3, 4, 5}}},
       [](Ctx c, In v) { return ag::p_norm(c, v[0], {.porder = 3.0, .axis = {0, -1}}); },
       false},
      {"p_norm", {{"x", {3, 4}, {}, -1.0}}, [](Ctx c, In v) { return ag::p_norm(c, v[0], {.porder = 1.0}); }},
      {"matmul",
       {{"x", {2, 1, 5, 3}}, {"y", {4, 6, 5}}},
       [](Ctx c, In v) { return ag::matmul(c, v[0], v[1], {.transpose_x = true, .transpose_y = true}); }},
      {"linear",
       {{"x", {2, 3, 5}}, {"weight", {5, 4}}, {"bias", {4}}},
       [](Ctx c, In v) { return ag::linear(c, v[0], v[1], {.bias = v[2]}); }},
      {"linear", {{"x", {3, 5}}, {"weight", {5, 4}}}, [](Ctx c, In v) { return ag::linear(c, v[0], v[1]); }},
      {"conv2d",
       {{"x", {2, 4, 6, 5}}, {"weight", {6, 2, 3, 2}}, {"bias", {6}}},
       [](Ctx c, In v) { return ag::conv2d(c, v[0], v[1], {.bias = v[2], .stride = {2, 1}, .groups = 2}); }},
      {"deform_conv2d",
       {{"x", {1, 2, 4, 3}},
        {"offset", {1, 8, 3, 2}, {}, -1.1},
        {"weight", {2, 2, 2, 2}},
        {"mask", {1, 4, 3, 2}},
        {"bias", {2}}},
       [](Ctx c, In v) { return ag::deform_conv2d(c, v[0], v[1], v[2], {.mask = v[3], .bias = v[4]}); }},
      {"deform_conv2d",
       {{"x", {1, 2, 4, 3}}, {"offset", {1, 8, 5, 4}, {}, -1.1}, {"weight", {2, 2, 2, 2}}},
       [](Ctx c, In v) { return ag::deform_conv2d(c, v[0], v[1], v[2], {.padding = {1, 1}}); }},
      {"pool2d",
       {{"x", {2, 3, 4, 6}}},
       [](Ctx c, In v) { return ag::pool2d(c, v[0], {.kernel_size = {2, 3}, .pooltype = "avg"}); }},
      {"pool2d", {{"x", {2, 3, 4, 6}}}, [](Ctx c, In v) { return ag::pool2d(c, v[0], {.kernel_size = {2, 2}}); }},
      {"reshape", {{"x", {3, 4}}}, [](Ctx c, In v) { return ag::reshape(c, v[0], {.shape = {2, -1}}); }},
      {"transpose", {{"x", {3, 4, 2}}}, [](Ctx c, In v) { return ag::transpose(c, v[0], {.perm = {2, 0, 1}}); }},
      {"slice",
       {{"x", {5, 4, 6}}},
       [](Ctx c, In v) {
         return ag::slice(c, v[0], {.axes = {0, -1}, .starts = {1, 5}, .ends = {-1, 0}, .strides = {1, -2}});
       }},
      {"trace", {{"x", {3, 4, 2}}}, [](Ctx c, In v) { return ag::trace(c, v[0], {.offset = 1}); }},
      {"sum", {{"x", {3, 4, 2}}}, [](Ctx c, In v) { return ag::sum(c, v[0], {.axis = {0, -1}}); }},
      {"mean", {{"x", {3, 4, 2}}}, [](Ctx c, In v) { return ag::mean(c, v[0], {.keepdim = true}); }},
      {"softmax", {{"x", {3, 4}}}, [](Ctx c, In v) { return ag::softmax(c, v[0], {.axis = 0}); }},
      {"cross_entropy_with_softmax",
       {{"logits", {4, 3}}},
       [](Ctx c, In v) {
         return ag::cross_entropy_with_softmax(c, v[0], indices(c, {4}, {2, -1, 0, 2}), {.ignore_index = -1});
       }},
      {"layer_norm",
       {{"x", {3, 2, 5}}, {"scale", {5}}, {"bias", {5}}},
       [](Ctx c, In v) { return ag::layer_norm(c, v[0], {.scale = v[1], .bias = v[2], .begin_norm_axis = 2}).out; }},
      {"batch_norm",
       {{"x", {3, 2, 4, 1}}, {"scale", {2}}, {"bias", {2}}},
       [](Ctx c, In v) {
         const ElementType type = v[0].tensor().type() == ElementType::f64 ? ElementType::f64 : ElementType::f32;
         const ag::Variable mean(c, type, {2}), variance(c, type, {2});  // not read, but for the next step's
         return ag::batch_norm(c, v[0], mean, variance, {.scale = v[1], .bias = v[2]}).out;
       }},
      {"embedding",
       {{"weight", {6, 2}}},
       [](Ctx c, In v) { return ag::embedding(c, v[0], indices(c, {2, 2}, {3, 0, 3, 5})); }},
      {"concat", {{"x", {3, 4}}, {"x", {3, 2}}}, [](Ctx c, In v) { return ag::concat(c, v, {.axis = 1}); }},
      {"split",
       {{"x", {3, 6}}},
       [](Ctx c, In v) {
         const Variables parts = ag::split(c, v[0], {.sections = {1, -1, 2}, .axis = 1});
         return ag::multiply(c, parts[0], parts[2]);  // nobody uses the one between
       }},
      {"sequence_pool",
       {{"x", {5, 2}, levels}},
       [](Ctx c, In v) { return ag::sequence_pool(c, v[0], {.pooltype = "sqrt"}); }},
      {"sequence_pool",
       {{"x", {5, 2}, levels}},
       [](Ctx c, In v) { return ag::sequence_pool(c, v[0], {.pooltype = "max"}); }},
      {"sequence_expand", {{"x", {3, 2}}}, [](Ctx c, In v) { return ag::sequence_expand(c, v[0], levels); }},
      {"sequence_pad",
       {{"x", {5, 2}, levels}},
       [](Ctx c, In v) { return ag::sequence_pad(c, v[0], {.pad_value = 7.0}); }},
      {"sequence_unpad", {{"x", {3, 4, 2}}}, [](Ctx c, In v) { return ag::sequence_unpad(c, v[0], levels); }},
      {"sequence_reverse", {{"x", {5, 2}, levels}}, [](Ctx c, In v) { return ag::sequence_reverse(c, v[0]); }},
      {"sequence_softmax", {{"x", {5, 2}, levels}}, [](Ctx c, In v) { return ag::sequence_softmax(c, v[0]); }},
      {"sequence_concat",
       {{"x", {5, 2}, levels}, {"x", {5, 2}, levels}},
       [](Ctx c, In v) { return ag::sequence_concat(c, v); }},
  };
}

/// The inputs of a case: a tensor of the test's each, random, and the same every time.
template <class T>
struct Inputs {
  std::vector<Tensor> tensors;
  Variables variables;

  Inputs(const Context& ctx, const OperatorCase& its) {
    unsigned seed = 7;
    for (const CaseInput& input : its.inputs) {
      Random random(seed++);
      std::vector<T> elements;
      for (std::int64_t i = 0; i < input.extents.product(); ++i) {
        elements.push_back(static_cast<T>(random.uniform(0.25, 2.0) + input.shift));
      }
      tensors.push_back(tensor_of(ctx, input.extents, elements));
      variables.emplace_back(tensors.back().ref(), input.levels, ag::Gradient::wanted);
    }
  }
};

template <class T>
ag::Variable ones(const Context& ctx, const Extents& extents) {
  return tensor_of(ctx, extents, std::vector<T>(static_cast<std::size_t>(extents.product()), static_cast<T>(1.0f)));
}

template <class T>
std::vector<std::vector<T>> gradients_of(const Context& ctx, const ag::Variable& out, const Variables& variables) {
  std::vector<std::vector<T>> all;
  for (const ag::Variable& grad :
       ag::gradients(ctx, {out}, variables, {.loss_grads = {ones<T>(ctx, out.tensor().extents())}})) {
    all.push_back(elements_of<T>(ctx, grad));
  }
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

class AutogradOperatorsTest : public OnEveryBackend {};

TEST_P(AutogradOperatorsTest, EveryOperatorWithAGradientHasACase) {
  std::set<std::string> with_gradient, with_case;
  for (const OperatorInfo& info : operators()) {
    if (!info.backward.empty()) with_gradient.insert(info.name);
  }
  for (const OperatorCase& each : operator_cases()) with_case.insert(each.op);
  EXPECT_EQ(with_case, with_gradient);
}

TEST_P(AutogradOperatorsTest, GradientsAreTheSlopes) {
  need_type<double>();
  for (const OperatorCase& each : operator_cases()) {
    SCOPED_TRACE(each.op);
    const Inputs<double> inputs(ctx, each);
    EXPECT_NO_THROW(ag::check_gradients(ctx, [&](const Variables& variables) { return each.call(ctx, variables); },
                                        inputs.variables, {.tolerance = 2e-7}));
  }
}

// What is wanted of one variable alone is, to the bit, what is wanted of it among all.
TEST_P(AutogradOperatorsTest, OneGradientAlone) {
  need_type<double>();
  for (const OperatorCase& each : operator_cases()) {
    SCOPED_TRACE(each.op);
    const Inputs<double> inputs(ctx, each);
    const auto all = gradients_of<double>(ctx, each.call(ctx, inputs.variables), inputs.variables);
    for (std::size_t i = 0; i < inputs.variables.size(); ++i) {
      Variables variables;
      for (std::size_t k = 0; k < inputs.variables.size(); ++k) {
        variables.push_back(k == i ? inputs.variables[k] : inputs.variables[k].detach());
      }
      const auto alone = gradients_of<double>(ctx, each.call(ctx, variables), {variables[i]});
      ASSERT_EQ(alone[0].size(), all[i].size());
      for (std::size_t k = 0; k < alone[0].size(); ++k)
        EXPECT_NEAR(alone[0][k], all[i][k], 1e-12) << each.inputs[i].name;
    }
  }
}

TEST_P(AutogradOperatorsTest, RememberingChangesNoBit) {
  need_type<float>();
  for (const OperatorCase& each : operator_cases()) {
    SCOPED_TRACE(each.op);
    const Inputs<float> inputs(ctx, each);
    const ag::Variable remembered = each.call(ctx, inputs.variables);
    EXPECT_TRUE(remembered.wants_gradient());
    const ag::NoGradients scope;
    const ag::Variable plain = each.call(ctx, inputs.variables);
    EXPECT_FALSE(plain.wants_gradient());
    EXPECT_TRUE(same_bits(elements_of<float>(ctx, remembered), elements_of<float>(ctx, plain)));
    EXPECT_EQ(remembered.levels(), plain.levels());
  }
}

/// A tensor of the test's for the result of a plain call.
template <class T>
Tensor result(const Context& ctx, const Extents& extents) {
  return Tensor(ElementTypeOf<T>::value, extents, default_memory_space(ctx.backend()));
}

TEST_P(AutogradOperatorsTest, TheSameBitsAsPlainCalls) {
  need_type<float>();
  const OperatorCase lerp_case{"lerp", {{"x", {3, 40}}, {"y", {40}}, {"weight", {3, 1}}}, {}};
  const Inputs<float> of_lerp(ctx, lerp_case);
  const auto& [x, y, weight] = std::tie(of_lerp.tensors[0], of_lerp.tensors[1], of_lerp.tensors[2]);
  const Tensor out = result<float>(ctx, {3, 40}), x_grad = result<float>(ctx, {3, 40}),
               y_grad = result<float>(ctx, {40}), weight_grad = result<float>(ctx, {3, 1});
  lerp(ctx, x, y, weight.ref(), out);
  lerp_grad(ctx, x, y, weight.ref(), x, x_grad, y_grad, weight_grad.ref());
  const Variables& v = of_lerp.variables;
  const ag::Variable made = ag::lerp(ctx, v[0], v[1], v[2]);
  EXPECT_TRUE(same_bits(elements_of<float>(ctx, made), elements_of<float>(ctx, out.ref())));
  const Variables grads = ag::gradients(ctx, {made}, v, {.loss_grads = {x}});
  EXPECT_TRUE(same_bits(elements_of<float>(ctx, grads[0]), elements_of<float>(ctx, x_grad.ref())));
  EXPECT_TRUE(same_bits(elements_of<float>(ctx, grads[1]), elements_of<float>(ctx, y_grad.ref())));
  EXPECT_TRUE(same_bits(elements_of<float>(ctx, grads[2]), elements_of<float>(ctx, weight_grad.ref())));

  const OperatorCase conv_case{"conv2d", {{"x", {2, 3, 7, 6}}, {"weight", {4, 3, 3, 3}}, {"bias", {4}}}, {}};
  const Inputs<float> of_conv(ctx, conv_case);
  const auto& tensors = of_conv.tensors;
  const Tensor convolved = result<float>(ctx, {2, 4, 7, 6});
  conv2d(ctx, tensors[0], tensors[1], convolved, {.bias = tensors[2], .padding = {1, 1}});
  std::vector<Tensor> plain;
  for (const CaseInput& input : conv_case.inputs) plain.push_back(result<float>(ctx, input.extents));
  const Context fixed = Context(ctx).deterministic(true);
  conv2d_grad(fixed, tensors[0], tensors[1], convolved, plain[0], plain[1], plain[2], {.padding = {1, 1}});
  const Variables& c = of_conv.variables;
  const ag::Variable image = ag::conv2d(ctx, c[0], c[1], {.bias = c[2], .padding = {1, 1}});
  EXPECT_TRUE(same_bits(elements_of<float>(ctx, image), elements_of<float>(ctx, convolved.ref())));
  const Variables found = ag::gradients(fixed, {image}, c, {.loss_grads = {convolved}});
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(same_bits(elements_of<float>(ctx, found[i]), elements_of<float>(ctx, plain[i].ref())));
  }
}

TEST_P(AutogradOperatorsTest, OutputsThatTheCallerProvides) {
  need_type<double>();
  const ag::Variable x = random_variable(ctx, {1, 2, 2, 2}, 1);
  // Running statistics in place: that is a change, and it is batch_norm's.
  const ag::Variable mean = variable_of(ctx, {2}, {1, 2}, ag::Gradient::none);
  const ag::Variable variance = variable_of(ctx, {2}, {3, 4}, ag::Gradient::none);
  const ag::Variable by_mean = ag::sum(ctx, ag::multiply(ctx, variable_of(ctx, {2}, {1, 1}), mean));
  const ag::BatchNormResult made =
      ag::batch_norm(ctx, x, mean, variance, {.mean_out = mean, .variance_out = variance, .momentum = 0.5});
  const std::vector<double> running = elements_of(ctx, mean), own = elements_of(ctx, made.saved_mean);
  EXPECT_DOUBLE_EQ(running[0], 0.5 * 1 + 0.5 * own[0]);
  EXPECT_DOUBLE_EQ(running[1], 0.5 * 2 + 0.5 * own[1]);
  EXPECT_FALSE(made.saved_mean.wants_gradient());
  expect_error([&] { ag::backward(ctx, by_mean); },
               "portops::autograd::backward: multiply kept y for its gradient, but batch_norm has changed it in place "
               "since");
  // An index of the caller's is the one that the gradient takes.
  const ag::Variable index = indices(ctx, {1, 2, 1, 1}, {-1, -1});
  ag::backward(ctx, ag::sum(ctx, ag::pool2d(ctx, x, {.index = index, .kernel_size = {2, 2}})));
  const auto found = elements_of<std::int64_t>(ctx, index);
  const std::vector<double> grad = elements_of(ctx, x.grad());
  for (std::size_t plane = 0; plane < 2; ++plane) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(grad[4 * plane + i], static_cast<std::int64_t>(i) == found[plane] ? 1.0 : 0.0);
    }
  }
}

TEST_P(AutogradOperatorsTest, EveryElementType) {
  need_type<double>();
  for (const OperatorCase& each : operator_cases()) {
    SCOPED_TRACE(each.op);
    const Inputs<double> exact(ctx, each);
    const auto expected = gradients_of<double>(ctx, each.call(ctx, exact.variables), exact.variables);
    for_each_type([&]<class T>() {
      const Inputs<T> inputs(ctx, each);
      const auto found = gradients_of<T>(ctx, each.call(ctx, inputs.variables), inputs.variables);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // A sample at another side of a pixel's edge, or of a maximum, has another slope.
        if (each.op == "deform_conv2d" || each.op == "pool2d" || each.op == "sequence_pool") continue;
        for (std::size_t k = 0; k < expected[i].size(); ++k) {
          const double value = expected[i][k];
          EXPECT_NEAR(static_cast<double>(found[i][k]), value, 64 * rounding<T>() * (1.0 + std::abs(value)));
        }
      }
    });
  }
}

// The schema says which inputs are read for their extents alone. Their memory is overwritten, and given back, before
// the gradient is computed.
TEST_P(AutogradOperatorsTest, WhatIsNotNeededMayGo) {
  need_type<double>();
  std::set<std::string> tested;
  for (const OperatorCase& each : operator_cases()) {
    SCOPED_TRACE(each.op);
    const OperatorInfo& gradient = find_operator(find_operator(each.op).backward);
    if (gradient.no_need_buffer.empty() || !each.needs_no_buffer) continue;
    Inputs<double> inputs(ctx, each), same(ctx, each);
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      if (each.inputs[i].name + "_grad" == gradient.no_need_buffer_unless) {
        inputs.variables[i] = inputs.variables[i].detach();
        same.variables[i] = same.variables[i].detach();
      } else {
        wanted.push_back(i);
      }
    }
    const auto taken = [&](const Inputs<double>& from) {
      Variables variables;
      for (const std::size_t i : wanted) variables.push_back(from.variables[i]);
      return variables;
    };
    const auto expected = gradients_of<double>(ctx, each.call(ctx, same.variables), taken(same));

    const auto holders = [&](std::size_t i) { return inputs.variables[i].data()->value.memory.use_count(); };
    std::vector<long> before;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) before.push_back(holders(i));
    const ag::Variable out = each.call(ctx, inputs.variables);
    for (const std::string& name : gradient.no_need_buffer) {
      const auto destroy = [&](const TensorRef& tensor) {
        const std::vector<double> nan(static_cast<std::size_t>(tensor.size()),
                                      std::numeric_limits<double>::quiet_NaN());
        copy(ctx, TensorRef(nan.data(), tensor.extents()), tensor);
        ctx.fence();
      };
      if (name == "out") destroy(out.tensor());
      for (std::size_t i = 0; i < each.inputs.size(); ++i) {
        if (each.inputs[i].name != name) continue;
        EXPECT_EQ(holders(i), before[i]) << name << " is kept";
        destroy(inputs.tensors[i]);
        inputs.tensors[i] = Tensor();
      }
    }
    const Variables variables = taken(inputs);
    const auto found = gradients_of<double>(ctx, out, variables);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_bits(found[i], expected[i]));
    tested.insert(gradient.name);
  }
  for (const OperatorInfo& info : operators()) {
    const bool is_backward = info.name.ends_with("_grad");
    EXPECT_TRUE(!is_backward || info.no_need_buffer.empty() || tested.contains(info.name)) << info.name;
  }
}

PORTOPS_ON_EVERY_BACKEND(AutogradOperatorsTest);

}  // namespace
}  // namespace portops::test
