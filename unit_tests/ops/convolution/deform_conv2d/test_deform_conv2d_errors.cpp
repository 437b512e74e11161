// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"

// Every wrong call is refused with a message that names what was found and what was expected.

namespace portops::test {
namespace {

using Problem = DeformConv2dProblem<float>;

/// What is wrong in a call that is right otherwise.
using Change = std::function<void(Problem&)>;

/// An attribute of another value, and the message behind the operator's name.
struct WrongAttribute {
  std::function<void(DeformConv2dCase&)> set;
  std::string message;
};

/// A tensor of other extents, and the same.
struct WrongExtents {
  std::string name;
  Extents extents;
  std::string message;
};

const std::string offset_origin = " (2 · deformable_groups · taps channels, and the extents of out)";
const std::string mask_origin = " (deformable_groups · taps channels, and the extents of out)";

const std::vector<WrongAttribute> wrong_attributes{
    {[](auto& c) { c.groups = 0; }, "groups is 0, expected a positive number"},
    {[](auto& c) { c.groups = -2; }, "groups is -2, expected a positive number"},
    {[](auto& c) { c.deformable_groups = 0; }, "deformable_groups is 0, expected a positive number"},
    {[](auto& c) { c.deformable_groups = -1; }, "deformable_groups is -1, expected a positive number"},
    {[](auto& c) { c.im2col_step = 0; }, "im2col_step is 0, expected a positive number"},
    {[](auto& c) { c.im2col_step = -64; }, "im2col_step is -64, expected a positive number"},
    {[](auto& c) { c.groups = 3; }, "groups is 3, expected a divisor of the channels of x, 4"},
    {[](auto& c) { c.groups = 8; }, "groups is 8, expected a divisor of the channels of x, 4"},
    {[](auto& c) { c.groups = 4; }, "groups is 4, expected a divisor of the out channels, 6 (axis 0 of weight)"},
    {[](auto& c) { c.groups = 1; }, "weight has 2 channels, expected 4 (the channels of x, 4, divided by groups, 1)"},
    {[](auto& c) { c.deformable_groups = 3; }, "deformable_groups is 3, expected a divisor of the channels of x, 4"},
    {[](auto& c) { c.stride = {0, 1}; }, "stride is [0, 1], expected two positive numbers"},
    {[](auto& c) { c.stride = {1, -2}; }, "stride is [1, -2], expected two positive numbers"},
    {[](auto& c) { c.stride = {1}; }, "stride is [1], expected two positive numbers"},
    {[](auto& c) { c.stride = {1, 1, 1}; }, "stride is [1, 1, 1], expected two positive numbers"},
    {[](auto& c) { c.stride = {}; }, "stride is [], expected two positive numbers"},
    {[](auto& c) { c.dilation = {1, 0}; }, "dilation is [1, 0], expected two positive numbers"},
    {[](auto& c) { c.dilation = {-1, 1}; }, "dilation is [-1, 1], expected two positive numbers"},
    {[](auto& c) { c.dilation = {2}; }, "dilation is [2], expected two positive numbers"},
    {[](auto& c) { c.padding = {1, -1}; }, "padding is [1, -1], expected two or four numbers that are not negative"},
    {[](auto& c) { c.padding = {1, 1, -3, 1}; },
     "padding is [1, 1, -3, 1], expected two or four numbers that are not negative"},
    {[](auto& c) { c.padding = {1}; }, "padding is [1], expected two or four numbers that are not negative"},
    {[](auto& c) { c.padding = {1, 1, 1}; },
     "padding is [1, 1, 1], expected two or four numbers that are not negative"},
    {[](auto& c) { c.padding = {}; }, "padding is [], expected two or four numbers that are not negative"},
    {[](auto& c) { c.padding = {std::numeric_limits<std::int64_t>::max(), 1}; },
     "padding or dilation is too large for 64-bit positions"},
    {[](auto& c) { c.dilation = {1, std::int64_t{1} << 62}; }, "padding or dilation is too large for 64-bit positions"},
    {[](auto& c) { c.stride = {2, 1}; }, "offset has extents [2, 36, 5, 5], expected [2, 36, 3, 5]" + offset_origin},
    {[](auto& c) { c.deformable_groups = 4; },
     "offset has extents [2, 36, 5, 5], expected [2, 72, 5, 5]" + offset_origin},
    {[](auto& c) { c.padding = {1, 1, 0, 1}; },
     "offset has extents [2, 36, 5, 5], expected [2, 36, 4, 5]" + offset_origin},
};

const std::vector<WrongExtents> wrong_inputs{
    {"x", {1, 2, 3}, "x has extents [1, 2, 3], expected four axes (images, channels, height, width)"},
    {"x", {2, 4, 5, 5, 1}, "x has extents [2, 4, 5, 5, 1], expected four axes (images, channels, height, width)"},
    {"weight",
     {6, 2, 9},
     "weight has extents [6, 2, 9], expected four axes (out channels, channels / groups, height, width)"},
    {"weight", {6, 2, 0, 3}, "weight has extents [6, 2, 0, 3], expected at least one tap (axes 2 and 3)"},
    {"weight", {6, 2, 3, 0}, "weight has extents [6, 2, 3, 0], expected at least one tap (axes 2 and 3)"},
    {"weight", {6, 3, 3, 3}, "weight has 3 channels, expected 2 (the channels of x, 4, divided by groups, 2)"},
    {"weight", {5, 2, 3, 3}, "groups is 2, expected a divisor of the out channels, 5 (axis 0 of weight)"},
    {"offset", {2, 18, 5, 5}, "offset has extents [2, 18, 5, 5], expected [2, 36, 5, 5]" + offset_origin},
    {"offset", {1, 36, 5, 5}, "offset has extents [1, 36, 5, 5], expected [2, 36, 5, 5]" + offset_origin},
    {"offset", {2, 36, 25}, "offset has extents [2, 36, 25], expected [2, 36, 5, 5]" + offset_origin},
    {"mask", {2, 9, 5, 5}, "mask has extents [2, 9, 5, 5], expected [2, 18, 5, 5]" + mask_origin},
    {"mask", {2, 18, 5, 4}, "mask has extents [2, 18, 5, 4], expected [2, 18, 5, 5]" + mask_origin},
    {"mask", {2, 1, 1, 1}, "mask has extents [2, 1, 1, 1], expected [2, 18, 5, 5]" + mask_origin},
};

const std::vector<WrongExtents> wrong_biases{
    {"bias", {5}, "bias has extents [5], expected [6] (axis 0 of weight)"},
    {"bias", {1}, "bias has extents [1], expected [6] (axis 0 of weight)"},
    {"bias", {6, 1}, "bias has extents [6, 1], expected [6] (axis 0 of weight)"},
};

const std::vector<WrongExtents> wrong_gradients{
    {"x_grad", {2, 6, 5, 5}, "x_grad has extents [2, 6, 5, 5], expected [2, 4, 5, 5] (the extents of x)"},
    {"offset_grad",
     {2, 18, 5, 5},
     "offset_grad has extents [2, 18, 5, 5], expected [2, 36, 5, 5] (the extents of offset)"},
    {"weight_grad",
     {6, 4, 3, 3},
     "weight_grad has extents [6, 4, 3, 3], expected [6, 2, 3, 3] (the extents of weight)"},
    {"mask_grad", {2, 36, 5, 5}, "mask_grad has extents [2, 36, 5, 5], expected [2, 18, 5, 5] (the extents of mask)"},
    {"bias_grad", {4}, "bias_grad has extents [4], expected [6] (axis 0 of weight)"},
};

/// How a message starts for each operator.
const std::string op = "portops::deform_conv2d: ", grad_op = "portops::deform_conv2d_grad: ";

class DeformConv2dErrorTest : public OnEveryBackend {
 protected:
  Problem problem{ctx, {.height = 5, .width = 5, .groups = 2, .deformable_groups = 2}};
  TestTensor<float> storage{ctx, {8192}};

  /// Floats of the storage from one on, as a tensor.
  TensorRef stored(const Extents& extents, std::int64_t first = 0) const {
    return {static_cast<float*>(storage.ref().data()) + first, extents, storage.ref().space()};
  }

  Problem changed(const Change& change) const {
    Problem copy = problem;
    change(copy);
    return copy;
  }

  void expect_out_error(const Change& change, const std::string& message) {
    const Problem call = changed(change);
    expect_error([&] { call.run(ctx); }, op + message);
    expect_error([&] { call.workspace(ctx); }, op + message);
  }
  void expect_grad_error(const Change& change, const std::string& message) {
    const Problem call = changed(change);
    expect_error([&] { call.run_grad(ctx); }, grad_op + message);
    expect_error([&] { call.grad_workspace(ctx); }, grad_op + message);
  }
  void expect_errors(const Change& change, const std::string& message) {
    expect_out_error(change, message);
    expect_grad_error(change, message);
  }

  /// An argument replaced by what `replace` gives for it, in the calls that take it.
  void expect_errors_of_each(const std::vector<std::string>& names,
                             const std::function<TensorRef(const TensorRef&)>& replace, const std::string& message) {
    for (const std::string& name : names) {
      const Change change = [&](Problem& call) { call.refs[name] = replace(call.refs[name]); };
      if (!name.ends_with("_grad")) expect_out_error(change, std::string(message).replace(message.find('#'), 1, name));
      if (name != "bias" && name != "out") {
        expect_grad_error(change, std::string(message).replace(message.find('#'), 1, name));
      }
    }
  }
};

/// All arguments; those of both operators in their order.
const std::vector<std::string> all_tensors{"x",           "offset",      "weight",    "mask",
                                           "bias",        "out",         "out_grad",  "x_grad",
                                           "offset_grad", "weight_grad", "mask_grad", "bias_grad"};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dErrorTest);

TEST_P(DeformConv2dErrorTest, attributes_out_of_range) {
  for (const auto& [set, message] : wrong_attributes) {
    expect_errors([&](Problem& call) { set(call.shape); }, message);
  }
}

TEST_P(DeformConv2dErrorTest, inputs_of_other_extents) {
  for (const auto& [name, extents, message] : wrong_inputs) {
    expect_errors([&](Problem& call) { call.refs[name] = stored(extents); }, message);
  }
  for (const auto& [name, extents, message] : wrong_biases) {
    expect_out_error([&](Problem& call) { call.refs[name] = stored(extents); }, message);
  }
}

/// Extents that 64 bits hold one by one, of tensors without elements or of strides 0.
TEST_P(DeformConv2dErrorTest, more_samples_than_64_bits_count) {
  constexpr std::int64_t one = 1;
  const auto spread = [&](const Extents& extents) {
    return TensorRef(static_cast<float*>(storage.ref().data()), extents, Extents::of_rank(extents.rank()),
                     storage.ref().space());
  };
  struct Wrong {
    Extents weight;
    std::int64_t channels, deformable_groups;
  };
  const std::string channels_of_offset =
      "64 bits cannot hold the channels of offset, 2 · deformable_groups · taps, for ";
  for (const auto& [weight, channels, deformable_groups] :
       {Wrong{{0, 1, one << 31, one << 30}, 16, 16}, Wrong{{0, 1, one << 31, one << 30}, 16, 2},
        Wrong{{0, 1, one << 31, one << 31}, 16, 1}, Wrong{{0, 1, one << 40, one << 40}, 16, 1},
        Wrong{{16, 1, one << 32, one << 31}, 16, 1}}) {
    const Change change = [&](Problem& call) {
      call.refs["x"] = spread({1, channels, 1, 1});
      call.refs["weight"] = spread(weight);
      call.shape.groups = channels;
      call.shape.deformable_groups = deformable_groups;
    };
    const Problem call = changed(change);
    EXPECT_THROW(call.run(ctx), Error);
    EXPECT_THROW(call.run_grad(ctx), Error);
    if (call.refs.at("weight").extent(0) != 0) continue;  // more elements than 64 bits count: that is said first
    expect_errors(change, channels_of_offset + std::to_string(weight[2]) + " · " + std::to_string(weight[3]) +
                              " taps and deformable_groups " + std::to_string(deformable_groups));
  }
  // 2^62 samples, the bytes of which would be 0 modulo 2^64.
  const Change change = [&](Problem& call) {
    call.refs["x"] = spread({1, one << 22, one << 20, one << 20});
    call.refs["weight"] = spread({6, one << 22, 1, 1});
    call.refs["offset"] = spread({1, 2, one << 20, one << 20});
    call.shape.groups = call.shape.deformable_groups = 1;
    call.shape.padding = {0, 0};
  };
  expect_errors(change,
                "64 bits cannot count the bytes of the sampled windows, [1, 4194304, 1, 1, 1048576, 1048576] (images, "
                "channels, taps down and across, windows down and across)");
}

TEST_P(DeformConv2dErrorTest, results_of_other_extents) {
  const std::string origin = " (the extents that x, weight, stride, padding and dilation give)";
  for (const Extents& extents : {Extents{2, 6, 5, 4}, Extents{2, 4, 5, 5}, Extents{2, 6, 25}, Extents{}}) {
    const std::string message = " has extents " + extents.to_string() + ", expected [2, 6, 5, 5]" + origin;
    expect_out_error([&](Problem& call) { call.refs["out"] = stored(extents); }, "out" + message);
    expect_grad_error([&](Problem& call) { call.refs["out_grad"] = stored(extents); }, "out_grad" + message);
  }
  for (const auto& [name, extents, message] : wrong_gradients) {
    expect_grad_error([&](Problem& call) { call.refs[name] = stored(extents); }, message);
  }
}

TEST_P(DeformConv2dErrorTest, missing_tensors) {
  expect_errors_of_each(
      {"x", "offset", "weight", "out", "out_grad"}, [](const TensorRef&) { return TensorRef(); },
      "# is empty, expected a tensor");
  expect_grad_error([](Problem& call) { call.refs["mask"] = {}; }, "mask_grad is wanted, but there is no mask");
}

TEST_P(DeformConv2dErrorTest, mixed_element_types) {
  TestTensor<double> wide(ctx, {8192});
  const auto of_doubles = [&](const TensorRef& tensor) {
    return TensorRef(static_cast<double*>(wide.ref().data()), tensor.extents(), wide.ref().space());
  };
  expect_errors_of_each(std::vector(all_tensors.begin() + 1, all_tensors.end()), of_doubles,
                        "# has element type f64, expected f32 (the element type of x)");
  expect_errors([&](Problem& call) { call.refs["x"] = of_doubles(call.refs["x"]); },
                "offset has element type f32, expected f64 (the element type of x)");
}

TEST_P(DeformConv2dErrorTest, memory_that_the_backend_cannot_reach) {
  const MemorySpace space = ctx.backend() == Backend::cuda ? MemorySpace::host : MemorySpace::cuda;
  std::vector<float> elements(8192);
  expect_errors_of_each(
      all_tensors, [&](const TensorRef& tensor) { return TensorRef(elements.data(), tensor.extents(), space); },
      "# lies in " + std::string(name_of(space)) + " memory, which the context's backend " +
          std::string(name_of(ctx.backend())) + " cannot reach");
}

TEST_P(DeformConv2dErrorTest, tensors_without_data) {
  expect_errors_of_each(
      all_tensors, [](const TensorRef& tensor) { return TensorRef::without_data(ElementType::f32, tensor.extents()); },
      "# has no data, but its elements are needed");
}

TEST_P(DeformConv2dErrorTest, misaligned_addresses) {
  expect_errors_of_each(
      all_tensors,
      [](const TensorRef& tensor) {
        return TensorRef(static_cast<char*>(tensor.data()) + 2, ElementType::f32, tensor.extents(), tensor.strides(),
                         tensor.space());
      },
      "the address of # is not a multiple of its element size, 4");
}

TEST_P(DeformConv2dErrorTest, broadcast_and_const_outputs) {
  for (const std::string& name : all_tensors) {
    if (name == "out_grad" || (name != "out" && !name.ends_with("_grad"))) continue;
    expect_errors_of_each(
        {name},
        [](const TensorRef& tensor) {
          return TensorRef(static_cast<const float*>(tensor.data()), tensor.extents(), tensor.space());
        },
        "# is an output, but its elements are const");
    Extents strides = problem.refs[name].strides();
    strides[0] = 0;
    expect_errors_of_each(
        {name},
        [&](const TensorRef& tensor) {
          return TensorRef(static_cast<float*>(tensor.data()), tensor.extents(), strides, tensor.space());
        },
        "# is an output, but with extents " + problem.refs[name].extents().to_string() + " and strides " +
            strides.to_string() + " some of its elements share an address");
  }
}

TEST_P(DeformConv2dErrorTest, overlapping_tensors) {
  // The last element of one is the first of the other.
  const auto overlap = [&](const std::string& first, const std::string& second) {
    return [&, first, second](Problem& call) {
      call.refs[first] = stored(call.refs[first].extents());
      call.refs[second] = stored(call.refs[second].extents(), call.refs[first].size() - 1);
    };
  };
  const auto message = [](const std::string& output, const std::string& other) {
    return output + " overlaps " + other + " in memory, expected disjoint tensors";
  };
  for (const std::string input : {"x", "offset", "weight", "mask", "bias"}) {
    expect_out_error(overlap("out", input), message("out", input));
    expect_out_error(overlap(input, "out"), message("out", input));
  }
  for (auto output = deform_conv2d_gradients.begin(); output != deform_conv2d_gradients.end(); ++output) {
    for (const std::string input : {"x", "offset", "weight", "mask", "out_grad"}) {
      expect_grad_error(overlap(*output, input), message(*output, input));
    }
    for (auto other = output + 1; other != deform_conv2d_gradients.end(); ++other) {
      expect_grad_error(overlap(*output, *other), message(*output, *other));
    }
  }
  expect_grad_error([](Problem& call) { call.refs["x_grad"] = call.refs["x"]; }, message("x_grad", "x"));
}

TEST_P(DeformConv2dErrorTest, interleaved_tensors_and_shared_inputs_do_not_overlap) {
  const auto channels = [&](std::int64_t first, const TensorRef& tensor) {
    const Extents strides{250, 25, 5, 1};  // of ten channels
    return TensorRef(static_cast<float*>(storage.ref().data()) + first * 25, tensor.extents(), strides,
                     storage.ref().space());
  };
  EXPECT_NO_THROW(changed([&](Problem& call) {
                    call.refs["x"] = channels(0, call.refs["x"]);
                    call.refs["out"] = channels(4, call.refs["out"]);
                  }).run(ctx));
  EXPECT_NO_THROW(changed([&](Problem& call) {
                    call.refs["out_grad"] = channels(0, call.refs["out_grad"]);
                    call.refs["x_grad"] = channels(6, call.refs["x_grad"]);
                  }).run_grad(ctx));
  EXPECT_NO_THROW(changed([&](Problem& call) {
                    call.refs["x"] = stored(call.refs["x"].extents());
                    call.refs["offset"] = stored(call.refs["offset"].extents());
                  }).run(ctx));
  ctx.fence();
}

TEST_P(DeformConv2dErrorTest, workspaces_that_are_too_small_or_misaligned) {
  const auto check = [&](const auto& call, std::size_t needed, const std::string& prefix) {
    if (needed == 0) return;
    TestTensor<float> lent(ctx, {static_cast<std::int64_t>(needed / 4 + 256)});
    const auto address = reinterpret_cast<std::uintptr_t>(lent.ref().data());
    char* const aligned = static_cast<char*>(lent.ref().data()) + (256 - address % 256) % 256;
    const auto message_of = [&](Workspace workspace) -> std::string {
      try {
        call(Context(ctx).workspace(workspace));
      } catch (const Error& error) {
        return error.what();
      }
      return "no error";
    };
    const std::string too_small = message_of({aligned, needed - 1});
    EXPECT_TRUE(too_small.starts_with(prefix)) << too_small;
    EXPECT_TRUE(too_small.ends_with(": the workspace has " + std::to_string(needed - 1) + " bytes, expected at least " +
                                    std::to_string(needed)))
        << too_small;
    const std::string misaligned = message_of({aligned + 8, needed + 256});
    EXPECT_TRUE(misaligned.starts_with(prefix)) << misaligned;
    EXPECT_TRUE(misaligned.ends_with(" is not aligned, expected a multiple of 256")) << misaligned;
  };
  check([&](const Context& lending) { problem.run(lending); }, problem.workspace(ctx), "portops::deform_conv2d::");
  check([&](const Context& lending) { problem.run_grad(lending); }, problem.grad_workspace(ctx),
        "portops::deform_conv2d_grad::");
}

TEST_P(DeformConv2dErrorTest, a_refused_call_changes_nothing) {
  std::vector<std::string> results = deform_conv2d_gradients;
  results.emplace_back("out");
  for (const std::string& name : results) problem.tensors.at(name).fill([](std::int64_t) { return 7.0; });
  const auto refuse = [&](const Change& change) {
    const Problem call = changed(change);
    EXPECT_THROW(call.run(ctx), Error);
    EXPECT_THROW(call.run_grad(ctx), Error);
  };
  for (const auto& wrong : wrong_attributes) refuse([&](Problem& call) { wrong.set(call.shape); });
  for (const auto& wrong : wrong_inputs) refuse([&](Problem& call) { call.refs[wrong.name] = stored(wrong.extents); });
  // The last argument that is looked at.
  EXPECT_THROW(changed([&](Problem& call) { call.refs["bias_grad"] = stored({5}); }).run_grad(ctx), Error);
  if (problem.grad_workspace(ctx) > 0) {
    EXPECT_THROW(problem.run_grad(Context(ctx).workspace({storage.ref().data(), 1})), Error);
  }
  for (const std::string& name : results) {
    TestTensor<float>& tensor = problem.tensors.at(name);
    tensor.download();
    for (std::int64_t i = 0; i < tensor.extents().product(); ++i) ASSERT_EQ(tensor[i], 7.0) << name << ", " << i;
  }
}

}  // namespace
}  // namespace portops::test
