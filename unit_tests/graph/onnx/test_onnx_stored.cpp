// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"
#include "graph/onnx/onnx_support.hpp"
#include "test_files.hpp"

#include <portops/ops/adam.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/divide.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/gelu.hpp>
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
#include <portops/ops/sequence_pool.hpp>
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

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

// The programs that releases have written, in stored/VERSION: NAME.onnx, NAME.INPUT.npy and what they computed,
// NAME.OUTPUT.npy. Each is read and run. PORTOPS_STORE_PROGRAMS names a folder, in which this release's are written.

namespace portops::test {
namespace {

namespace fs = std::filesystem;
using Integers = std::vector<std::int64_t>;

class Builder {
 public:
  graph::Program program;

  graph::ValueId constant(const Extents& extents) {
    const std::string name = "c" + std::to_string(program.values().size());
    Random random(program.values().size() + 1);
    const Tensor tensor(ElementType::f32, extents);
    for (std::int64_t i = 0; i < tensor.ref().size(); ++i)
      tensor.data<float>()[i] = static_cast<float>(random.uniform(0.25, 1.0));
    return program.add_constant(name, tensor);
  }
  graph::ValueId input(const std::string& name, const Extents& extents, const Levels& levels = {}) {
    return program.add_input(name, ElementType::f32, extents, levels);
  }
  graph::ValueId call(const std::string& op, std::map<std::string, graph::Operand, std::less<>> inputs,
                      std::map<std::string, Attribute, std::less<>> attributes = {}) {
    return program.add_call({.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes)}).result("out");
  }
};

graph::Program images() {
  Builder b;
  const graph::ValueId x = b.input("x", {2, 4, 9, 8});
  graph::ValueId y =
      b.call("conv2d", {{"x", x}, {"weight", b.constant({6, 2, 3, 3})}, {"bias", b.constant({6})}},
             {{"padding", Integers{1, 0, 2, 1}}, {"stride", Integers{2, 1}}, {"groups", std::int64_t{2}}});
  y = b.call("batch_norm",
             {{"x", y},
              {"mean", b.constant({6})},
              {"variance", b.constant({6})},
              {"scale", b.constant({6})},
              {"bias", b.constant({6})}},
             {{"is_test", true}});
  y = b.call("relu", {{"x", y}});
  b.program.add_output(
      "small", b.call("pool2d", {{"x", y}},
                      {{"kernel_size", Integers{2, 3}}, {"stride", Integers{2, 2}}, {"padding", Integers{1, 1}}}));
  b.program.add_output("means",
                       b.call("pool2d", {{"x", y}}, {{"pooltype", std::string("avg")}, {"global_pooling", true}}));
  return b.program;
}

graph::Program deformable() {
  Builder b;
  const graph::ValueId x = b.input("x", {2, 4, 6, 7});
  const graph::ValueId offset = b.call("conv2d", {{"x", x}, {"weight", b.constant({18 * 2, 4, 1, 1})}});
  const graph::ValueId mask =
      b.call("sigmoid", {{"x", b.call("conv2d", {{"x", x}, {"weight", b.constant({18, 4, 1, 1})}})}});
  b.program.add_output(
      "y", b.call("deform_conv2d",
                  {{"x", x},
                   {"offset", offset},
                   {"mask", mask},
                   {"weight", b.constant({6, 2, 3, 3})},
                   {"bias", b.constant({6})}},
                  {{"padding", Integers{1, 1}}, {"groups", std::int64_t{2}}, {"deformable_groups", std::int64_t{2}}}));
  return b.program;
}

graph::Program tokens() {
  Builder b;
  const graph::ValueId ids = b.program.add_input("ids", ElementType::i64, {2, 3});
  graph::ValueId x = b.call("embedding", {{"weight", b.constant({5, 4})}, {"ids", ids}});
  x = b.call("add", {{"x", x}, {"y", b.input("position", {3, 4})}});
  x = b.call("layer_norm", {{"x", x}, {"scale", b.constant({4})}, {"bias", b.constant({4})}},
             {{"begin_norm_axis", std::int64_t{-1}}});
  const graph::ValueId q = b.call("linear", {{"x", x}, {"weight", b.constant({4, 4})}, {"bias", b.constant({4})}});
  const graph::ValueId scores =
      b.call("divide", {{"x", b.call("matmul", {{"x", q}, {"y", x}}, {{"transpose_y", true}})}, {"y", 2.0}});
  x = b.call("matmul", {{"x", b.call("softmax", {{"x", scores}})}, {"y", x}});
  x = b.call("gelu", {{"x", x}});
  const graph::Call parts = b.program.add_call(
      {.op = "split", .inputs = {{"x", x}}, .attributes = {{"sections", Integers{1, 3}}, {"axis", std::int64_t{2}}}});
  x = b.call("concat", {{"x", std::vector<graph::ValueId>{parts.results("out")[1], parts.results("out")[0]}}},
             {{"axis", std::int64_t{2}}});
  x = b.call(
      "transpose",
      {{"x",
        b.call("slice", {{"x", x}},
               {{"axes", Integers{1}}, {"starts", Integers{2}}, {"ends", Integers{-4}}, {"strides", Integers{-2}}})}},
      {{"perm", Integers{2, 0, 1}}});
  b.program.add_output("y", b.call("reshape", {{"x", x}}, {{"shape", Integers{-1, 4}}}));
  return b.program;
}

graph::Program numbers() {
  Builder b;
  const graph::ValueId x = b.input("x", {3, 3}), y = b.input("y", {3, 1});
  b.program.add_output("a", b.call("lerp", {{"x", x}, {"y", y}, {"weight", 0.1}}));
  b.program.add_output(
      "b", b.call("multiply", {{"x", b.call("tanh", {{"x", b.call("subtract", {{"x", x}, {"y", y}})}})}, {"y", 0.1}}));
  b.program.add_output("c", b.call("silu", {{"x", x}}));
  b.program.add_output("d", b.call("p_norm", {{"x", x}}, {{"porder", 3.0}, {"axis", Integers{0}}}));
  b.program.add_output("e", b.call("p_norm", {{"x", x}}, {{"keepdim", true}}));
  b.program.add_output("f", b.call("trace", {{"x", x}}, {{"offset", std::int64_t{1}}}));
  b.program.add_output("g",
                       b.call("mean", {{"x", b.call("sum", {{"x", x}}, {{"axis", Integers{1}}, {"keepdim", true}})}}));
  return b.program;
}

graph::Program sequences() {
  Builder b;
  const graph::ValueId x = b.input("x", {6, 2}, Levels({{0, 2, 3}, {0, 4, 4, 6}}));
  b.program.add_output("y", b.call("sequence_pool", {{"x", b.call("relu", {{"x", x}})}},
                                   {{"pooltype", std::string("sqrt")}, {"pad_value", 0.1}}));
  return b.program;
}

graph::Program training() {
  Builder b;
  const graph::ValueId logits = b.input("logits", {2, 3});
  const graph::ValueId label = b.program.add_input("label", ElementType::i64, {2});
  b.program.add_output(
      "loss", b.program.add_call({.op = "cross_entropy_with_softmax", .inputs = {{"logits", logits}, {"label", label}}})
                  .result("loss"));
  std::vector<graph::ValueId> param, grad, first, second;
  for (const char* number : {"0", "1"}) {
    param.push_back(b.input(std::string("param") + number, {3}));
    grad.push_back(b.input(std::string("grad") + number, {3}));
    first.push_back(b.constant({3}));
    second.push_back(b.constant({3}));
  }
  const graph::Call step = b.program.add_call({.op = "adam",
                                               .inputs = {{"param", param},
                                                          {"grad", grad},
                                                          {"moment1", first},
                                                          {"moment2", second},
                                                          {"learning_rate", 0.001},
                                                          {"beta1_pow", 0.9},
                                                          {"beta2_pow", 0.999}}});
  b.program.add_output("param0", step.results("param_out")[0], param[0]);
  b.program.add_output("param1", step.results("param_out")[1], param[1]);
  b.program.add_output("moment", step.results("moment2_out")[1]);
  return b.program;
}

void write_npy(const fs::path& path, const TensorRef& tensor) {
  std::string extents;
  for (const std::int64_t extent : tensor.extents()) extents += std::to_string(extent) + ",";
  std::string header = std::string("{'descr': '") + (tensor.type() == ElementType::i64 ? "<i8" : "<f4") +
                       "', 'fortran_order': False, 'shape': (" + extents + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  const auto size = static_cast<std::uint16_t>(header.size());
  file << std::string("\x93NUMPY\x01\0", 8);
  file.write(reinterpret_cast<const char*>(&size), 2);
  file << header;
  file.write(static_cast<const char*>(tensor.data()),
             tensor.size() * static_cast<std::int64_t>(size_of(tensor.type())));
}

/// The elements of a file that write_npy wrote.
Tensor read_npy(const fs::path& path, ElementType type, const Extents& extents) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const Tensor tensor(type, extents);
  const std::size_t size = static_cast<std::size_t>(tensor.ref().size()) * size_of(type);
  EXPECT_GT(bytes.size(), size) << path;
  if (bytes.size() > size) std::memcpy(tensor.ref().data(), bytes.data() + bytes.size() - size, size);
  return tensor;
}

class OnnxStoredTest : public testing::Test {
 protected:
  void SetUp() override { need_type<float>(); }

  Context ctx{enabled_backends().back()};
};

TEST_F(OnnxStoredTest, OldProgramsComputeWhatTheyDid) {
  std::size_t count = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(PORTOPS_TEST_FILES) / "graph" / "onnx" / "stored")) {
    const fs::path& path = entry.path();
    if (path.extension() != ".onnx") continue;
    ++count;
    SCOPED_TRACE(path.string());
    const auto file = [&](const std::string& name) {
      return path.parent_path() / (path.stem().string() + "." + name + ".npy");
    };
    const graph::Program program = graph::read_onnx(path);
    std::map<std::string, Tensor> inputs;
    for (const graph::ValueId each : program.inputs()) {
      const graph::ValueInfo& value = program.value(each);
      const Tensor there(value.type, value.extents, default_memory_space(ctx.backend()));
      copy(ctx, read_npy(file(value.name), value.type, value.extents), there);
      ctx.fence();
      inputs.emplace(value.name, there);
    }
    const Results results = plain_results(ctx, program, inputs);
    for (const graph::ProgramOutput& output : program.outputs()) {
      const graph::ValueInfo& value = program.value(output.value);
      // What is left in an input has its name: its file ends with .after.
      const fs::path stored = file(inputs.contains(output.name) ? output.name + ".after" : output.name);
      const Tensor expected = read_npy(stored, value.type, value.extents);
      std::vector<float> found(static_cast<std::size_t>(value.extents.product()));
      std::memcpy(found.data(), results.at(output.name).data(), found.size() * sizeof(float));
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected.data<float>()[i], 1e-5 * (1 + std::abs(expected.data<float>()[i])))
            << output.name << " " << i;
      }
    }
  }
  EXPECT_GE(count, 6);
}

TEST_F(OnnxStoredTest, ProgramsOfThisReleaseAreWritten) {
  const std::map<std::string, graph::Program> programs = {{"images", images()},       {"deformable", deformable()},
                                                          {"tokens", tokens()},       {"numbers", numbers()},
                                                          {"sequences", sequences()}, {"training", training()}};
  const char* folder = std::getenv("PORTOPS_STORE_PROGRAMS");
  for (const auto& [name, program] : programs) {
    const std::string bytes = graph::onnx_model(program);
    EXPECT_EQ(opinion_of_onnx(bytes), "") << name;
    EXPECT_EQ(opinion_of_onnx(graph::onnx_model(graph::parse_onnx(bytes))), "") << name;
    if (folder == nullptr) continue;
    graph::write_onnx(program, fs::path(folder) / (name + ".onnx"));
    const auto inputs = random_inputs(ctx, program, 1);
    const auto host = [&](const TensorRef& tensor) {
      const Tensor copied(tensor.type(), tensor.extents());
      copy(ctx, tensor, copied);
      ctx.fence();
      return copied;
    };
    for (const auto& [input, tensor] : inputs)
      write_npy(fs::path(folder) / (name + "." + input + ".npy"), host(tensor));
    const Results results = plain_results(ctx, program, inputs);
    for (const graph::ProgramOutput& output : program.outputs()) {
      const graph::ValueInfo& value = program.value(output.value);
      const Tensor result(value.type, value.extents);
      std::memcpy(result.ref().data(), results.at(output.name).data(), results.at(output.name).size());
      write_npy(fs::path(folder) / (name + "." + output.name + (inputs.contains(output.name) ? ".after" : "") + ".npy"),
                result);
    }
  }
}

}  // namespace
}  // namespace portops::test
