// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_reference.hpp"

#include <portops/core/registry.hpp>

#include <deque>

// What sgd, momentum, adam and count_nonfinite refuse, and their calls by name.

namespace portops::test {
namespace {

class OptimizersErrorsTest : public OnEveryBackend {
 protected:
  using List = std::vector<TensorRef>;

  List list(std::initializer_list<Extents> extents) {
    List made;
    for (const Extents& each : extents) made.push_back(tensors_.emplace_back(ctx, each).ref());
    return made;
  }
  TensorRef number() { return tensors_.emplace_back(ctx, Extents()).ref(); }

  std::deque<TestTensor<float>> tensors_;  // before those that are made of them
  List param = list({{3, 4}, {5}}), grad = list({{3, 4}, {5}}), out = list({{3, 4}, {5}});
  List first = list({{3, 4}, {5}}), second = list({{3, 4}, {5}});
};
PORTOPS_ON_EVERY_BACKEND(OptimizersErrorsTest);

TEST_P(OptimizersErrorsTest, lists_that_do_not_fit_each_other) {
  expect_error([&] { sgd(ctx, {}, grad, 0.1, out, {}); },
               "portops::sgd: param is an empty list, expected one tensor or more");
  expect_error([&] { sgd(ctx, param, list({{3, 4}}), 0.1, out, {}); },
               "portops::sgd: grad has 1 tensors, expected 2 (one for each of param)");
  expect_error([&] { sgd(ctx, param, list({{3, 4}, {6}}), 0.1, out, {}); },
               "portops::sgd: grad[1] has extents [6], expected [5] (the extents of param[1])");
  expect_error([&] { sgd(ctx, param, grad, 0.1, list({{3, 4}}), {}); },
               "portops::sgd: param_out has 1 tensors, expected 2 (one for each of param)");
  expect_error([&] { sgd(ctx, param, grad, 0.1, list({{4, 3}, {5}}), {}); },
               "portops::sgd: param_out[0] has extents [4, 3], expected [3, 4] (the extents of param[0])");
  expect_error([&] { sgd(ctx, List{param[0], {}}, grad, 0.1, out, {}); },
               "portops::sgd: param[1] is empty, expected a tensor");
  expect_error([&] { momentum(ctx, param, grad, list({{3, 4}}), 0.1, out, first, {}); },
               "portops::momentum: velocity has 1 tensors, expected 2 (one for each of param)");
}

TEST_P(OptimizersErrorsTest, element_types) {
  TestTensor<std::int64_t> indices(ctx, {5});
  expect_error([&] { sgd(ctx, param, List{grad[0], indices}, 0.1, out, {}); },
               "portops::sgd: grad[1] has element type i64, expected f32 (the element type of param[0])");
  expect_error([&] { sgd(ctx, List{indices}, List{indices}, 0.1, List{indices}, {}); },
               "portops::sgd: param[0] has element type i64, expected f64, f32, f16 or bf16");
  need_type<f16>();
  TestTensor<f16> half(ctx, {5}), half_grad(ctx, {5}), half_out(ctx, {5});
  expect_error([&] { momentum(ctx, List{half}, List{half_grad}, List{half_out}, 0.1, List{half}, List{half_out}, {}); },
               "portops::momentum: velocity[0] has element type f16, expected f32");
  expect_error([&] { sgd(ctx, List{half}, List{half_grad}, half_out, List{half}, {}); },
               "portops::sgd: learning_rate has element type f16, expected f32");
  expect_error([&] { sgd(ctx, List{half}, List{half_grad}, 0.1, List{half}, {}, {.skip = number()}); },
               "portops::sgd: skip has element type f32, expected i64");
  expect_error([&] { adam(ctx, param, grad, first, second, 0.1, number(), 0.5, param, first, second, {}, {}, {}); },
               "portops::adam: beta1_pow has element type f32, expected f64");
}

TEST_P(OptimizersErrorsTest, numbers) {
  expect_error([&] { sgd(ctx, param, grad, grad[1], out, {}); },
               "portops::sgd: learning_rate has extents [5], expected [] (those of a scalar)");
  const auto with_power = [&](double power) {
    adam(ctx, param, grad, first, second, 0.1, 0.9, power, param, first, second, {}, {}, {});
  };
  expect_error([&] { with_power(1.0); }, "portops::adam: beta2_pow is 1, expected at least 0 and less than 1");
  expect_error([&] { with_power(-0.5); }, "portops::adam: beta2_pow is -0.5, expected at least 0 and less than 1");
  TestTensor<double> power(ctx, {});
  expect_error([&] { adam(ctx, param, grad, first, second, 0.1, 0.9, 0.99, param, first, second, power, {}, {}); },
               "portops::adam: beta1_pow_out is given, but beta1_pow is a number and has no gradient");
}

TEST_P(OptimizersErrorsTest, master_parameters_without_their_results) {
  expect_error([&] { sgd(ctx, param, grad, 0.1, out, {}, {.master_param = first}); },
               "portops::sgd: master_param is given, but no master_param_out, expected both or neither");
  expect_error([&] { sgd(ctx, param, grad, 0.1, out, first); },
               "portops::sgd: master_param_out is wanted, but there is no master_param");
  expect_error([&] { sgd(ctx, param, grad, 0.1, out, List{first[0], {}}, {.master_param = second}); },
               "portops::sgd: master_param_out[1] is empty, expected a tensor");
}

TEST_P(OptimizersErrorsTest, overlaps) {
  expect_error([&] { sgd(ctx, param, grad, 0.1, grad, {}); },
               "portops::sgd: param_out[0] overlaps grad[0] in memory, expected disjoint tensors");
  expect_error([&] { sgd(ctx, List{param[0], param[0]}, List{grad[0], first[0]}, 0.1, List{param[0], param[0]}, {}); },
               "portops::sgd: param_out[0] overlaps param_out[1] in memory, expected disjoint tensors");
  const List squares = list({{4, 4}, {4, 4}});
  const List turned{squares[1], squares[0]};
  expect_error([&] { sgd(ctx, squares, list({{4, 4}, {4, 4}}), 0.1, turned, {}); },
               "portops::sgd: param_out[0] overlaps param[1] in memory, expected disjoint tensors");
  expect_error([&] { momentum(ctx, param, grad, first, 0.1, param, param, {}); },
               "portops::momentum: param_out[0] overlaps velocity_out[0] in memory, expected disjoint tensors");
}

TEST_P(OptimizersErrorsTest, calls_by_name) {
  StepLists<float> direct(ctx, {.optimizer = Optimizer::adam, .has_master = true}, {{3, 4}, {5}});
  StepLists<float> named(ctx, {.optimizer = Optimizer::adam, .has_master = true}, {{3, 4}, {5}});
  direct.call(ctx, true);
  const auto refs = [](const auto& tensors) { return StepLists<float>::refs(tensors); };
  Arguments arguments;
  arguments.set("param", refs(named.param))
      .set("grad", refs(named.grad))
      .set("learning_rate", named.learning_rate.ref());
  arguments.set("moment1", refs(named.states[0])).set("moment2", refs(named.states[1]));
  arguments.set("beta1_pow", named.beta1_pow.ref()).set("beta2_pow", named.beta2_pow.ref());
  arguments.set("master_param", refs(named.master)).set("grad_scale", named.grad_scale.ref());
  arguments.set("beta2", 0.99).set("epsilon", 1e-6).set("skip", named.skip.ref());
  const auto specs = infer("adam", arguments);
  EXPECT_EQ(specs.at("moment1_out").list, (std::vector<Extents>{{3, 4}, {5}}));
  EXPECT_EQ(specs.at("beta1_pow_out").type, ElementType::f64);
  arguments.set("param_out", refs(named.param_out)).set("master_param_out", refs(named.master_out));
  arguments.set("moment1_out", refs(named.states_out[0])).set("moment2_out", refs(named.states_out[1]));
  arguments.set("beta1_pow_out", named.beta1_pow.ref()).set("beta2_pow_out", named.beta2_pow.ref());
  run("adam", ctx, arguments);
  named.expect_right();
  for (auto* lists : {&direct, &named}) lists->beta1_pow.download();
  EXPECT_EQ(direct.beta1_pow[0], named.beta1_pow[0]);

  const auto refused = [&](const Arguments& given, const std::string& message) {
    expect_error([&] { infer("adam", given); }, "portops::adam: " + message);
  };
  refused(Arguments(arguments).set("moment2", list({{3, 4}})), "moment2 has 1 tensors, expected 2 (like(param))");
  refused(Arguments(arguments).set("moment2", list({{3, 4}, {6}})),
          "moment2[1] has extents [6], expected [5] (like(param))");
  refused(Arguments(arguments).set("beta1_pow", named.learning_rate.ref()),
          "beta1_pow has element type f32, expected f64");
  refused(Arguments(arguments).set("skip", named.learning_rate.ref()), "skip has element type f32, expected i64");
}

TEST(OptimizersInferTest, the_type_of_sums_is_f32_but_for_f64) {
  const auto inferred = [](ElementType type, ElementType sums) {
    const auto list = [](ElementType its) { return std::vector{TensorRef::without_data(its, {2, 3})}; };
    const auto specs = infer("momentum", Arguments()
                                             .set("param", list(type))
                                             .set("grad", list(type))
                                             .set("velocity", list(sums))
                                             .set("learning_rate", 0.1));
    EXPECT_EQ(specs.at("param_out").type, type);
    EXPECT_EQ(specs.at("velocity_out").type, sums);
  };
  inferred(ElementType::f64, ElementType::f64);
  inferred(ElementType::f32, ElementType::f32);
  inferred(ElementType::f16, ElementType::f32);
  inferred(ElementType::bf16, ElementType::f32);
}

}  // namespace
}  // namespace portops::test
