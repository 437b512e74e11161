// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_softmax.hpp>
#include <portops/ops/sequence_unpad.hpp>

// Wrong calls of the operators on ragged tensors: what they throw, and that they write nothing.

namespace portops::test {
namespace {

class SequenceErrorsTest : public OnEveryBackend {
 protected:
  void expect_refused(const std::string& op, const std::function<void()>& f, const std::string& message) {
    expect_error(f, "portops::" + op + ": " + message);
  }

  TestTensor<float> x{ctx, {5, 2}}, x_grad{ctx, {5, 2}}, three{ctx, {3, 2}}, three_too{ctx, {3, 2}}, six{ctx, {6, 2}};
  TestTensor<double> wide{ctx, {3, 2}};
  TestTensor<std::int64_t> index{ctx, {3, 2}}, numbers{ctx, {3}};
  Levels levels = levels_of({2, 0, 3});
};

PORTOPS_ON_EVERY_BACKEND(SequenceErrorsTest);

TEST_P(SequenceErrorsTest, sequence_pool) {
  const auto refused = [&](const std::function<void()>& f, const std::string& message) {
    expect_refused("sequence_pool", f, message);
  };
  refused([&] { sequence_pool(ctx, {{}, levels}, three); }, "x is empty, expected a tensor");
  refused([&] { sequence_pool(ctx, {x, {}}, three); }, "x has no levels, expected a ragged tensor");
  refused([&] { sequence_pool(ctx, {six, levels}, three); },
          "x has extents [6, 2], expected 5 rows (the last offset of its levels)");
  refused([&] { sequence_pool(ctx, {x, levels}, six); },
          "out has extents [6, 2], expected [3, 2] (those of x with a row a sequence)");
  refused([&] { sequence_pool(ctx, {x, levels}, wide); },
          "out has element type f64, expected f32 (the element type of x)");
  refused([&] { sequence_pool(ctx, {x, levels}, three, {}, {.pooltype = "mean"}); },
          "pooltype is 'mean', expected sum, average, sqrt, max, first or last");
  refused([&] { sequence_pool(ctx, {x, levels}, three, index, {.pooltype = "sum"}); },
          "index is given, but pooltype is sum, expected max");
  refused([&] { sequence_pool(ctx, {x, levels}, three, three_too, {.pooltype = "max"}); },
          "index has element type f32, expected i64");
  refused([&] { sequence_pool(ctx, {x, levels}, three, numbers, {.pooltype = "max"}); },
          "index has extents [3], expected [3, 2] (those of x with a row a sequence)");
  refused([&] { sequence_pool(ctx, {x, levels}, three, {}, {.index = index, .pooltype = "max"}); },
          "params.index is given, but it is an input of the gradient alone");
  const TensorRef inside(static_cast<float*>(x.ref().data()), {3, 2}, x.ref().space());
  refused([&] { sequence_pool(ctx, {x, levels}, inside); }, "out overlaps x in memory, expected disjoint tensors");
}

TEST_P(SequenceErrorsTest, sequence_pool_grad) {
  const auto refused = [&](const std::function<void()>& f, const std::string& message) {
    expect_refused("sequence_pool_grad", f, message);
  };
  refused([&] { sequence_pool_grad(ctx, {x, levels}, three, x_grad, {.pooltype = "max"}); },
          "index is not given, expected what sequence_pool wrote, as pooltype is max");
  refused([&] { sequence_pool_grad(ctx, {x, levels}, six, x_grad); },
          "out_grad has extents [6, 2], expected [3, 2] (those of x with a row a sequence)");
  refused([&] { sequence_pool_grad(ctx, {x, levels}, three, six); },
          "x_grad has extents [6, 2], expected [5, 2] (the extents of x)");
  sequence_pool_grad(ctx, {x, levels}, three, {});  // not wanted
}

TEST_P(SequenceErrorsTest, sequence_expand) {
  const auto refused = [&](const std::function<void()>& f, const std::string& message) {
    expect_refused("sequence_expand", f, message);
  };
  const Levels y = levels_of({1, 2, 3});
  refused([&] { sequence_expand(ctx, {three, {}}, {}, six); }, "y has no levels, expected levels");
  refused([&] { sequence_expand(ctx, {x, {}}, y, six); }, "level -1 of y has 3 items, expected 5 (the sequences of x)");
  refused([&] { sequence_expand(ctx, {three, {}}, y, six, {.ref_level = 1}); },
          "ref_level is 1, expected -1 to 0 (a level of y)");
  refused([&] { sequence_expand(ctx, {x, Levels({{0, 1}, {0, 5}})}, levels_of({1}), six); },
          "x has 2 levels, expected one or none");
  refused([&] { sequence_expand(ctx, {x, levels}, y, six); },
          "out has extents [6, 2], expected [11, 2] (those of x with each sequence repeated as y says)");
  refused([&] { sequence_expand(ctx, {x, levels}, levels_of({std::int64_t{1} << 62, 0, 0}), six); },
          "64 bits cannot hold the rows of out");
  expect_refused(
      "sequence_expand_grad", [&] { sequence_expand_grad(ctx, {three, {}}, y, x, three_too); },
      "out_grad has extents [5, 2], expected [6, 2] (those of x with each sequence repeated as y says)");
}

TEST_P(SequenceErrorsTest, sequence_pad_and_unpad) {
  TestTensor<float> padded(ctx, {3, 3, 2});
  const auto refused = [&](const std::function<void()>& f, const std::string& message) {
    expect_refused("sequence_pad", f, message);
  };
  refused([&] { sequence_pad(ctx, {x, levels}, padded, {}, {.padded_length = 2}); },
          "padded_length is 2, expected -1 or at least 3 (the longest sequence)");
  refused([&] { sequence_pad(ctx, {x, levels}, padded, {}, {.padded_length = 4}); },
          "out has extents [3, 3, 2], expected [3, 4, 2] (the sequences of x, side by side)");
  refused([&] { sequence_pad(ctx, {x, levels}, padded, index); },
          "length has extents [3, 2], expected [3] (a number a sequence of x)");
  const auto unpad_refused = [&](const std::function<void()>& f, const std::string& message) {
    expect_refused("sequence_unpad", f, message);
  };
  unpad_refused([&] { sequence_unpad(ctx, padded, {}, x); }, "length has no levels, expected levels");
  unpad_refused([&] { sequence_unpad(ctx, padded, levels_of({1}), x); },
                "length has 1 sequences, expected 3 (the first extent of x)");
  unpad_refused([&] { sequence_unpad(ctx, padded, levels_of({1, 4, 0}), x); },
                "length has a sequence of 4 rows, expected at most 3 (the second extent of x)");
  unpad_refused([&] { sequence_unpad(ctx, padded, levels, six); },
                "out has extents [6, 2], expected [5, 2] (the rows of length)");
}

TEST_P(SequenceErrorsTest, sequence_concat) {
  const auto refused = [&](const std::vector<RaggedRef>& inputs, const std::string& message) {
    expect_refused("sequence_concat", [&] { portops::sequence_concat(ctx, inputs, six); }, message);
  };
  refused({}, "x is an empty list, expected one tensor or more");
  refused({{x, levels}, {x_grad, {}}}, "x[1] has no levels, expected a ragged tensor");
  refused({{x, levels}, {x_grad, levels_of({5})}},
          "x[1] has levels [[0, 5]], expected as many sequences, and levels above them, as x[0] has: [[0, 2, 2, 5]]");
  refused({{x, levels}, {numbers, levels_of({1, 1, 1})}},
          "x[1] has element type i64, expected f32 (the element type of x[0])");
  TestTensor<float> vector(ctx, {3});
  refused({{x, levels}, {vector, levels_of({1, 1, 1})}},
          "x[1] has extents [3], expected [3, 2] (those of x[0], but for the rows)");
  refused({{x, levels}, {wide, levels_of({1, 1, 1})}},
          "x[1] has element type f64, expected f32 (the element type of x[0])");
  refused({{x, levels}, {three, levels_of({1, 1, 1})}},
          "out has extents [6, 2], expected [8, 2] (those of x[0] with the rows of all)");
  constexpr std::int64_t rows = std::int64_t{1} << 62;
  const RaggedRef empty{TensorRef(static_cast<float*>(x.ref().data()), {rows, 0}, x.ref().space()), levels_of({rows})};
  const std::vector<RaggedRef> twice{empty, empty};
  refused(twice, "64 bits cannot hold the rows of out");
  expect_refused("sequence_concat", [&] { sequence_concat_levels(twice); }, "64 bits cannot hold the rows of out");
}

TEST_P(SequenceErrorsTest, sequence_reverse_and_softmax) {
  expect_refused(
      "sequence_reverse", [&] { sequence_reverse(ctx, {x, levels}, x); },
      "out overlaps x in memory, expected disjoint tensors");
  expect_refused(
      "sequence_reverse_grad", [&] { sequence_reverse_grad(ctx, {x, levels}, three, x_grad); },
      "out_grad has extents [3, 2], expected [5, 2] (the extents of x)");
  expect_refused(
      "sequence_softmax", [&] { sequence_softmax(ctx, {x, levels}, three); },
      "out has extents [3, 2], expected [5, 2] (the extents of x)");
  expect_refused(
      "sequence_softmax_grad", [&] { sequence_softmax_grad(ctx, {x, levels}, x, three, x_grad); },
      "out_grad has extents [3, 2], expected [5, 2] (the extents of x)");
}

/// A gradient may not lie where its variable does, whose elements are not read, unless the call is not told of them.
TEST_P(SequenceErrorsTest, gradients_in_the_memory_of_x) {
  const Levels of_three = levels_of({1, 1, 1});
  TestTensor<float> padded(ctx, {3, 3, 2});
  const auto check = [&](const std::string& op, const TensorRef& variable,
                         const std::function<void(const TensorRef&, const TensorRef&)>& call) {
    expect_refused(op, [&] { call(variable, variable); }, "x_grad overlaps x in memory, expected disjoint tensors");
    EXPECT_NO_THROW(call(TensorRef::without_data(variable.type(), variable.extents()), variable)) << op;
    ctx.fence();
  };
  check("sequence_pool_grad", x, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_pool_grad(ctx, {variable, levels}, three, gradient);
  });
  check("sequence_expand_grad", three, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_expand_grad(ctx, {variable, {}}, levels_of({1, 2, 3}), six, gradient);
  });
  check("sequence_pad_grad", x, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_pad_grad(ctx, {variable, levels}, padded, gradient);
  });
  check("sequence_unpad_grad", padded, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_unpad_grad(ctx, variable, levels, x, gradient);
  });
  check("sequence_reverse_grad", x, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_reverse_grad(ctx, {variable, levels}, x_grad, gradient);
  });
  check("sequence_softmax_grad", three, [&](const TensorRef& variable, const TensorRef& gradient) {
    sequence_softmax_grad(ctx, {variable, of_three}, three_too, three_too, gradient);
  });
}

TEST_P(SequenceErrorsTest, sequence_concat_grad) {
  const Levels of_three = levels_of({1, 1, 1});
  const auto call = [&](const TensorRef& first, const TensorRef& second, const TensorRef& out_grad,
                        const std::vector<TensorRef>& gradients) {
    const std::vector<RaggedRef> inputs{{first, of_three}, {second, of_three}};
    portops::sequence_concat_grad(ctx, inputs, out_grad, gradients);
  };
  const auto refused = [&](const std::vector<TensorRef>& gradients, const std::string& message) {
    expect_refused("sequence_concat_grad", [&] { call(three, three_too, six, gradients); }, message);
  };
  TestTensor<float> free(ctx, {3, 2});
  const TensorRef inside(static_cast<float*>(six.ref().data()) + 2, {3, 2}, six.ref().space());
  const std::string end = " in memory, expected disjoint tensors";
  refused({free}, "x_grad has 1 tensors, expected 2 (one for each of x)");
  refused({free, x}, "x_grad[1] has extents [5, 2], expected [3, 2] (the extents of x[1])");
  refused({free, free}, "x_grad[0] overlaps x_grad[1]" + end);
  refused({{}, inside}, "x_grad[1] overlaps out_grad" + end);
  refused({three, free}, "x_grad[0] overlaps x[0]" + end);
  refused({three_too, {}}, "x_grad[0] overlaps x[1]" + end);
  refused({{}, three}, "x_grad[1] overlaps x[0]" + end);
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 2});
  EXPECT_NO_THROW(call(shape, shape, six, {three, three_too}));
  EXPECT_NO_THROW(call(three, three, six, {free, three_too}));  // one input twice
  EXPECT_NO_THROW(call(three, three_too, six, {}));             // none wanted
  ctx.fence();
}

TEST_P(SequenceErrorsTest, levels_of_expanded_tensors) {
  const auto refused = [&](const Levels& x_levels, const Levels& y, std::int64_t ref_level,
                           const std::string& message) {
    expect_refused("sequence_expand", [&] { sequence_expand_levels(x_levels, y, {.ref_level = ref_level}); }, message);
  };
  const Levels two({{0, 1, 3}, {0, 1, 2, 3}});
  for (const Levels& x_levels : {Levels(), levels_of({1, 1})}) {
    refused(x_levels, {}, -1, "y has no levels, expected levels");
    for (const std::int64_t level : {std::int64_t{-2}, std::int64_t{2}, std::int64_t{1} << 32}) {
      refused(x_levels, two, level, "ref_level is " + std::to_string(level) + ", expected -1 to 1 (a level of y)");
    }
  }
  EXPECT_EQ(sequence_expand_levels({}, two, {.ref_level = 0}), Levels({{0, 1, 3}}));
}

}  // namespace
}  // namespace portops::test
