// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/named_values.hpp"

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/levels.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>

// What the function of each operator gives in C is, to the bit, what a call by name gives in C++.

namespace portops::test {
namespace {

using Shape = std::vector<std::int64_t>;

/// In outputs, before the call: all bits set.
constexpr std::int64_t unwritten = -1;

/// A tensor, as C and C++ have it: where the backend reads it, and a copy on the host.
struct Operand {
  Shape shape;
  std::vector<std::int64_t> bytes;  // of i64; of f32 half of it is not used
  Tensor memory;                    // of as many
  DLTensor tensor{};
  ElementType type;

  Operand(Backend backend, ElementType its, Shape extents, int seed) : shape(std::move(extents)), type(its) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) size *= extent;
    bytes.assign(static_cast<std::size_t>(size) + 1, seed != 0 ? 0 : unwritten);
    for (std::size_t i = 0; seed != 0 && i < static_cast<std::size_t>(size); ++i) {
      const float value = static_cast<float>((static_cast<std::size_t>(seed) * 31 + i * 17) % 23) / 8.0f - 1.0f;
      char* const data = reinterpret_cast<char*>(bytes.data());
      if (type == ElementType::f32) std::memcpy(data + i * sizeof(value), &value, sizeof(value));
      if (type == ElementType::i64) bytes[i] = static_cast<std::int64_t>(i % 2);
      if (type == ElementType::f64) bytes[i] = std::bit_cast<std::int64_t>(0.5);
    }
    memory = Tensor(ElementType::i64, {size + 1}, default_memory_space(backend));
    tensor.data = memory.ref().data();
    tensor.device = {backend == Backend::cuda ? kDLCUDA : kDLCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    const auto bits = static_cast<std::uint8_t>(8 * size_of(type));
    tensor.dtype = DLDataType{type == ElementType::i64 ? std::uint8_t{kDLInt} : std::uint8_t{kDLFloat}, bits, 1};
    tensor.shape = shape.data();
  }

  TensorRef ref() {
    const Extents extents{std::span<const std::int64_t>(shape)};
    return {memory.ref().data(), type, extents, extents.row_major_strides(), memory.ref().space()};
  }

  TensorRef on_host() {
    const Extents extents{memory.ref().extent(0)};
    return {bytes.data(), ElementType::i64, extents, extents.row_major_strides(), MemorySpace::host};
  }
};

/// The arguments of a call, for both.
class Call {
 public:
  Arguments arguments;
  NamedValues values;

  explicit Call(Backend backend) : backend_(backend) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    for (const auto& [name, all] : values.all_levels) {
      for (const portops_levels levels : all) portops_levels_destroy(levels);
    }
  }

  void tensor(const std::string& name, const Shape& shape, ElementType type = ElementType::f32, bool filled = true) {
    Operand& made = operands_.emplace_back(backend_, type, shape, filled ? static_cast<int>(operands_.size()) + 1 : 0);
    values.tensors[name] = {&made.tensor};
    arguments.set(name, TensorOrNumber(made.ref()));
  }
  void list(const std::string& name, const std::vector<Shape>& shapes, bool filled = true,
            ElementType type = ElementType::f32) {
    std::vector<TensorRef> refs;
    for (const Shape& shape : shapes) {
      Operand& made =
          operands_.emplace_back(backend_, type, shape, filled ? static_cast<int>(operands_.size()) + 1 : 0);
      values.tensors[name].push_back(&made.tensor);
      refs.push_back(made.ref());
    }
    arguments.set(name, std::span<const TensorRef>(refs));
  }
  void indices(const std::string& name, const Shape& items) {
    tensor(name, {static_cast<std::int64_t>(items.size())}, ElementType::i64);
    std::copy(items.begin(), items.end(), operands_.back().bytes.begin());
  }
  /// Makes Inf of the first number of the last tensor.
  void overflow() {
    const float inf = std::numeric_limits<float>::infinity();
    std::memcpy(operands_.back().bytes.data(), &inf, sizeof(inf));
  }
  void levels(const std::string& name, const Shape& lengths) {
    arguments.set(name, Levels::from_lengths(lengths));
    values.all_levels[name] = {handle(lengths)};
  }
  void list_levels(const std::string& name, const std::vector<Shape>& lengths) {
    std::vector<RaggedRef> list;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      list.push_back({(*arguments.list(name))[i], Levels::from_lengths(lengths[i])});
      values.all_levels[name].push_back(handle(lengths[i]));
    }
    arguments.set(name, std::span<const RaggedRef>(list));
  }
  void number(const std::string& name, double value) {
    arguments.set(name, value);
    values.numbers[name] = value;
  }
  void integer(const std::string& name, std::int64_t value) {
    arguments.set(name, value);
    values.numbers[name] = static_cast<double>(value);
  }
  void integers(const std::string& name, const Shape& items) {
    arguments.set(name, Attribute(items));
    values.all_integers[name] = items;
  }
  void text(const std::string& name, const std::string& value) {
    arguments.set(name, Attribute(value));
    values.texts[name] = value;
  }

  /// Brings all tensors to where the backend reads them, or back.
  void bring(const Context& context) {
    for (Operand& operand : operands_) copy(context, operand.on_host(), operand.memory);
  }
  void fetch(const Context& context) {
    for (Operand& operand : operands_) copy(context, operand.memory, operand.on_host());
    context.fence();
  }
  /// A tensor's elements on the host, once they are fetched.
  const void* elements(const DLTensor* tensor) const {
    const auto at = std::find_if(operands_.begin(), operands_.end(),
                                 [&](const Operand& operand) { return &operand.tensor == tensor; });
    return at->bytes.data();
  }

 private:
  static portops_levels handle(const Shape& lengths) {
    portops_levels made = nullptr;
    EXPECT_EQ(portops_levels_create_from_lengths(lengths.data(), lengths.size(), &made), PORTOPS_OK);
    return made;
  }

  Backend backend_;
  std::deque<Operand> operands_;
};

/// The inputs and attributes of an operator; a gradient takes those of its operator, and others that follow from it.
void give_inputs(Call& call, const std::string& op) {
  if (op == "lerp") {
    call.tensor("x", {3, 4}), call.tensor("y", {3, 4}), call.tensor("weight", {4});
  } else if (op == "add" || op == "subtract" || op == "multiply" || op == "divide") {
    call.tensor("x", {3, 4}), call.tensor("y", {4});
  } else if (op == "relu" || op == "clip" || op == "gelu" || op == "hard_sigmoid" || op == "hard_swish" ||
             op == "silu" || op == "sigmoid" || op == "tanh") {
    call.tensor("x", {3, 4});
    if (op == "hard_sigmoid") call.number("slope", 0.25), call.number("offset", 0.125);
    if (op == "clip") call.number("min", 0.5), call.number("max", 0.75);
    if (op == "gelu") call.text("approximate", "tanh");
  } else if (op == "p_norm") {
    call.tensor("x", {3, 4}), call.number("porder", 3), call.integers("axis", {0}), call.number("epsilon", 1e-3);
  } else if (op == "deform_conv2d") {
    call.tensor("x", {2, 4, 4, 5}), call.tensor("offset", {2, 16, 2, 3}), call.tensor("weight", {2, 2, 2, 2});
    call.tensor("mask", {2, 8, 2, 3}), call.tensor("bias", {2}), call.integers("stride", {2, 2});
    call.integers("padding", {0, 0, 0, 1}), call.integer("groups", 2), call.integer("deformable_groups", 2);
    call.integer("im2col_step", 1);
  } else if (op == "dropout") {
    call.tensor("x", {3, 4}), call.tensor("step", {}, ElementType::i64), call.number("p", 0.25),
        call.integer("seed", 2);
  } else if (op == "transpose") {
    call.tensor("x", {3, 4}), call.integers("perm", {1, 0});
  } else if (op == "slice") {
    call.tensor("x", {3, 4}), call.integers("axes", {1}), call.integers("starts", {1}), call.integers("ends", {3});
  } else if (op == "conv2d") {
    call.tensor("x", {2, 4, 5, 4}), call.tensor("weight", {6, 2, 3, 2}), call.tensor("bias", {6});
    call.integers("stride", {2, 1}), call.integers("padding", {1, 0}), call.integers("dilation", {1, 2});
    call.integer("groups", 2);
  } else if (op == "pool2d") {
    call.tensor("x", {2, 3, 5, 6}), call.integers("kernel_size", {3, 2}), call.integers("stride", {2});
    call.integers("padding", {1, 0, 0, 1}), call.arguments.set("ceil_mode", true), call.values.numbers["ceil_mode"] = 1;
  } else if (op == "matmul") {
    call.tensor("x", {3, 4}), call.tensor("y", {2, 3, 5}), call.values.numbers["transpose_x"] = 1;
    call.arguments.set("transpose_x", true);
  } else if (op == "linear") {
    call.tensor("x", {3, 4}), call.tensor("weight", {4, 5}), call.tensor("bias", {5});
  } else if (op == "reshape") {
    call.tensor("x", {3, 4}), call.integers("shape", {2, -1});
  } else if (op == "trace") {
    call.tensor("x", {3, 4}), call.integer("offset", 1), call.integer("axis1", 1), call.integer("axis2", 0);
  } else if (op == "sum" || op == "mean") {
    call.tensor("x", {3, 4, 2}), call.integers("axis", {2, 0});
  } else if (op == "softmax") {
    call.tensor("x", {3, 4}), call.integer("axis", 0);
  } else if (op == "cross_entropy_with_softmax") {
    call.tensor("logits", {3, 4}), call.indices("label", {2, 0, 3}), call.integer("ignore_index", 2);
    call.text("reduction", "sum");
  } else if (op == "layer_norm") {
    call.tensor("x", {3, 2, 4}), call.tensor("scale", {4}), call.tensor("bias", {4});
    call.number("epsilon", 0.125), call.integer("begin_norm_axis", -1);
  } else if (op == "batch_norm") {
    call.tensor("x", {3, 2, 4}), call.tensor("mean", {4}), call.tensor("variance", {4}), call.tensor("scale", {4});
    call.tensor("bias", {4}), call.number("momentum", 0.25), call.number("epsilon", 0.125);
    call.text("data_layout", "NHWC");
  } else if (op == "merge_rows") {
    call.indices("rows", {2, 0, 2}), call.tensor("values", {3, 2}), call.integer("height", 4);
  } else if (op == "sparse_sgd" || op == "sparse_momentum" || op == "sparse_adam") {
    call.tensor("param", {4, 2}), call.indices("rows", {2, 0, 2}), call.tensor("values", {3, 2});
    call.number("learning_rate", 0.125);
    if (op == "sparse_momentum")
      call.tensor("velocity", {4, 2}), call.number("mu", 0.5), call.values.numbers["use_nesterov"] = 1;
    if (op == "sparse_momentum") call.arguments.set("use_nesterov", true);
    if (op == "sparse_adam") {
      call.tensor("moment1", {4, 2}), call.tensor("moment2", {4, 2}), call.number("beta1_pow", 0.5);
      call.number("beta2_pow", 0.25), call.number("beta1", 0.5), call.number("epsilon", 0.5);
    }
  } else if (op == "sgd" || op == "momentum" || op == "adam") {
    const std::vector<Shape> shapes{{4, 2}, {3}};
    call.list("param", shapes), call.list("grad", shapes), call.list("master_param", shapes);
    call.tensor("learning_rate", {}), call.tensor("grad_scale", {}), call.tensor("skip", {}, ElementType::i64);
    call.number("weight_decay", 0.5);
    if (op == "momentum") call.list("velocity", shapes), call.number("mu", 0.5);
    if (op == "adam") {
      call.list("moment1", shapes), call.list("moment2", shapes), call.number("epsilon", 0.5);
      call.tensor("beta1_pow", {}, ElementType::f64), call.tensor("beta2_pow", {}, ElementType::f64);
    }
  } else if (op == "count_nonfinite") {
    call.list("x", {{4, 2}, {3}}), call.overflow();
  } else if (op == "update_loss_scale") {
    call.tensor("good_steps", {}, ElementType::i64), call.tensor("scale", {});
    call.list("nonfinite", {{}, {}}, true, ElementType::i64), call.integer("growth_interval", 1);
  } else if (op == "full_like") {
    call.tensor("x", {3, 4}), call.tensor("fill_value", {});
  } else if (op == "embedding_sparse_gradient") {
    call.tensor("weight", {4, 2}), call.indices("ids", {2, 0, 2}), call.tensor("out_grad", {3, 2});
    call.integer("padding_idx", 0);
  } else if (op == "embedding") {
    call.tensor("weight", {4, 2}), call.indices("ids", {2, 0, 2}), call.integer("padding_idx", 2);
  } else if (op == "concat") {
    call.list("x", {{2, 1}, {2, 3}}), call.integer("axis", 1);
  } else if (op == "split") {
    call.tensor("x", {3, 4}), call.integers("sections", {1, -1}), call.integer("axis", 1);
  } else if (op == "sequence_concat") {
    call.list("x", {{3, 2}, {2, 2}}), call.list_levels("x", {{1, 2}, {2, 0}});
  } else if (op == "sequence_unpad") {
    call.tensor("x", {3, 2, 2}), call.levels("length", {2, 0, 1});
  } else if (op.starts_with("sequence_")) {
    call.tensor("x", {4, 2}), call.levels("x", {2, 0, 2});
    if (op == "sequence_pool") call.text("pooltype", "max"), call.number("pad_value", 3);
    if (op == "sequence_pad") call.integer("padded_length", 5), call.number("pad_value", -1);
    if (op == "sequence_expand") call.levels("y", {1, 2, 2}), call.integer("ref_level", 0);
  } else {
    FAIL() << "no case for the operator " << op;
  }
}

Shape shape_of(const Extents& extents) { return {extents.begin(), extents.end()}; }

/// A tensor for what an operator gives, or for its gradient.
void give(Call& call, const OutputInfo& output, const TensorSpec& spec, const std::string& name, bool filled) {
  if (!output.list) return call.tensor(name, shape_of(spec.extents), spec.type, filled);
  std::vector<Shape> shapes;
  for (const Extents& extents : spec.list) shapes.push_back(shape_of(extents));
  call.list(name, shapes, filled);
}

/// Takes out what the operator does not take.
void keep_arguments(Call& call, const OperatorInfo& info) {
  std::vector<std::string> names;
  for (const InputInfo& input : info.inputs) names.push_back(input.name);
  for (const AttributeInfo& attribute : info.attributes) names.push_back(attribute.name);
  Arguments kept;
  for (const std::string& name : names) {
    if (const TensorOrNumber* value = call.arguments.tensor(name)) kept.set(name, *value);
    if (const auto* list = call.arguments.list(name)) {
      kept.set(name, std::span<const TensorRef>(*list));
      if (const auto* levels = call.arguments.list_levels(name)) {
        std::vector<RaggedRef> ragged;
        for (std::size_t i = 0; i < list->size(); ++i) ragged.push_back({(*list)[i], (*levels)[i]});
        kept.set(name, std::span<const RaggedRef>(ragged));
      }
    }
    kept.set(name, call.arguments.levels(name));
    if (const Attribute* attribute = call.arguments.attribute(name)) kept.set(name, *attribute);
  }
  call.arguments = kept;
}

/// Of a gradient what it takes of its operator's outputs, and their gradients.
void give_gradient_inputs(Call& call, const OperatorInfo& gradient, const OperatorInfo& forward) {
  keep_arguments(call, forward);
  const auto specs = infer(forward.name, call.arguments);
  for (const InputInfo& input : gradient.inputs) {
    for (const OutputInfo& output : forward.outputs) {
      const bool is_output = input.name == output.name;
      if (is_output || input.name == output.name + "_grad") give(call, output, specs.at(output.name), input.name, true);
    }
  }
}

const OperatorInfo* forward_of(const OperatorInfo& gradient) {
  for (const OperatorInfo& info : operators()) {
    if (info.backward == gradient.name) return &info;
  }
  return nullptr;
}

void give_all(Call& call, const OperatorInfo& info) {
  const OperatorInfo* forward = forward_of(info);
  give_inputs(call, forward == nullptr ? info.name : forward->name);
  if (forward != nullptr) give_gradient_inputs(call, info, *forward);
  keep_arguments(call, info);
  const auto specs = infer(info.name, call.arguments);
  for (const OutputInfo& output : info.outputs) give(call, output, specs.at(output.name), output.name, false);
}

bool has_f32() {
  const auto types = enabled_element_types();
  return std::find(types.begin(), types.end(), ElementType::f32) != types.end();
}

/// Compares what the operator's function has written with what the call by name has.
void expect_same(const OutputInfo& output, const Call& in_c, const Call& in_cpp) {
  const auto& found = in_c.values.tensors.at(output.name);
  const auto& expected = in_cpp.values.tensors.at(output.name);
  bool is_written = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::size_t bytes = found[i]->dtype.bits / 8;
    for (std::int32_t axis = 0; axis < found[i]->ndim; ++axis) bytes *= static_cast<std::size_t>(found[i]->shape[axis]);
    const char* const data = static_cast<const char*>(in_c.elements(found[i]));
    EXPECT_EQ(std::memcmp(data, in_cpp.elements(expected[i]), bytes), 0) << output.name;
    is_written = is_written || std::any_of(data, data + bytes, [](char byte) { return byte != char(unwritten); });
  }
  EXPECT_TRUE(is_written) << output.name << " was not written";
}

TEST(CInterfaceTest, EveryOperatorGivesTheSameAsInCpp) {
  if (!has_f32()) GTEST_SKIP() << "needs f32";
  EXPECT_EQ(operator_functions().size(), operators().size());
  for (const Backend backend : enabled_backends()) {
    SCOPED_TRACE(name_of(backend));
    const Context context = Context(backend).deterministic(true);
    portops_context ctx = nullptr;
    ASSERT_EQ(portops_context_create(static_cast<portops_backend>(backend), nullptr, &ctx), PORTOPS_OK);
    ASSERT_EQ(portops_context_set_deterministic(ctx, 1), PORTOPS_OK);
    for (const OperatorInfo& info : operators()) {
      SCOPED_TRACE(info.name);
      Call in_c(backend), in_cpp(backend);
      give_all(in_c, info);
      give_all(in_cpp, info);
      if (HasFatalFailure()) return;
      in_c.bring(context);
      in_cpp.bring(context);
      context.fence();
      run(info.name, context, in_cpp.arguments);
      ASSERT_EQ(operator_functions().at(info.name)(ctx, in_c.values), PORTOPS_OK) << portops_last_error();
      ASSERT_EQ(portops_context_fence(ctx), PORTOPS_OK);
      in_c.fetch(context);
      in_cpp.fetch(context);
      for (const OutputInfo& output : info.outputs) expect_same(output, in_c, in_cpp);
    }
    EXPECT_EQ(portops_context_destroy(ctx), PORTOPS_OK);
  }
}

}  // namespace
}  // namespace portops::test
