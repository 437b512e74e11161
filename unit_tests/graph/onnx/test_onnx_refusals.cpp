// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/onnx_support.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/tanh.hpp>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

// Files that are refused, and what is said of them.

namespace portops::test {
namespace {

class OnnxRefusalTest : public testing::Test {
 protected:
  void SetUp() override { need_type<float>(); }
};

constexpr const char* relu = "(float[2] x) => (float[2] y) { y = Relu(x) }";

TEST_F(OnnxRefusalTest, WhatIsNoModel) {
  EXPECT_EQ(refusal_of(""), "it has no graph: it is no ONNX model");
  EXPECT_EQ(refusal_of("no model"), "it is no ONNX model, or was cut off");
  const std::string model = bytes_of_graph(17, relu);
  EXPECT_EQ(refusal_of(model.substr(0, model.size() - 3)), "it is no ONNX model, or was cut off");
  EXPECT_EQ(message_of([] { graph::read_onnx("/none/x.onnx"); }),
            "portops::graph::read_onnx: /none/x.onnx: it cannot be opened: No such file or directory");
}

TEST_F(OnnxRefusalTest, OtherVersions) {
  EXPECT_EQ(refusal_of_graph(10, relu).substr(0, 50), "it asks for operator set 10 of ONNX, expected 11 t");
  EXPECT_EQ(refusal_of_graph(1000, relu).substr(0, 40), "it asks for operator set 1000 of ONNX, e");
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"portops\" : 99007]> g (float[2] x) => (float[2] y) { y = "
      "portops.relu(x) }");
  const std::int64_t own = graph::onnx_schema_version();
  EXPECT_EQ(refusal_of(model.SerializeAsString()),
            "it asks for the operators of portops 99.7, and these are those of " + std::to_string(own / 1000) + "." +
                std::to_string(own % 1000));
  model.mutable_opset_import(1)->set_version(own);
  EXPECT_EQ(graph::parse_onnx(model.SerializeAsString()).calls()[0].op, "relu");
  model.set_ir_version(1000);
  EXPECT_EQ(refusal_of(model.SerializeAsString()).substr(0, 44), "it asks for version 1000 of the format, and ");
}

TEST_F(OnnxRefusalTest, NodesThatDoNotFitTogether) {
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Relu(z) }"),
            "node (Relu): reads 'z', which nothing before it gives: it is missing, or the nodes are in no order in "
            "which they can run");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Relu(b) }"),
            "node (Add): reads 'b', which nothing before it gives: it is missing, or the nodes are in no order in "
            "which they can run");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Relu(x) y = Tanh(x) }"),
            "node (Tanh): gives 'y', which is there already");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { z = Relu(x) }"), "output 'y' is given by no node");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }"),
            "two inputs are named 'x'");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x, float[3] w) => (float[2] y) { y = Add(x, w) }").substr(0, 26),
            "node (Add): portops::add: ");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Relu<slope = 2.0>(x) }").substr(0, 12),
            "node (Relu):");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Relu(x, x) }").substr(0, 12), "node (Relu):");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Mystery(x) }"),
            "node (Mystery): operator set 17 of ONNX has no such operator");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = Cos(x) }"),
            "node (Cos): no call has the meaning of this operator");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = portops.mystery(x) }"),
            "node (mystery): there is no such operator in this version of portops");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (float[2] y) { y = elsewhere.Relu(x) }"),
            "node (Relu): is of the domain 'elsewhere', of which the model says no version");
}

TEST_F(OnnxRefusalTest, SubgraphsAndFunctionsThatCallThemselves) {
  EXPECT_EQ(refusal_of_graph(
                17,
                "(bool c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] z) { z = Relu(x) }, "
                "else_branch = e () => (float[2] z) { z = Tanh(x) }> }"),
            "input 'c' is of bool, expected float, double, float16, bfloat16 or int64");
  EXPECT_EQ(refusal_of_graph(
                17,
                "(float[2] x) => (float[2] y) <bool c = {1}> { y = If(c) <then_branch = t () => (float[2] z) { z = "
                "Relu(x) }, else_branch = e () => (float[2] z) { z = Tanh(x) }> }"),
            "node (If): has subgraphs, which programs have not");
  const std::string head =
      "<ir_version: 8, opset_import: [\"\" : 17, \"l\" : 1]> g (float[2] x) => (float[2] y) { y = l.f(x) } ";
  EXPECT_NE(
      refusal_of(model_of(head + "<domain: \"l\", opset_import: [\"\" : 17, \"l\" : 1]> f (a) => (b) { b = l.f(a) }")
                     .SerializeAsString())
          .find("is a function that calls itself"),
      std::string::npos);
  if (is_sanitized()) return;
  // Ten that call the next one ten times each.
  std::string text = head;
  for (int i = 0; i < 10; ++i) {
    const std::string name = i == 0 ? "f" : "f" + std::to_string(i);
    text += "<domain: \"l\", opset_import: [\"\" : 17, \"l\" : 1]> " + name + " (a) => (b) { v0 = Relu(a) ";
    for (int j = 1; j <= 10; ++j) {
      const std::string call = i < 9 ? "l.f" + std::to_string(i + 1) : "Relu";
      text += (j < 10 ? "v" + std::to_string(j) : "b") + " = " + call + "(v" + std::to_string(j - 1) + ") ";
    }
    text += "} ";
  }
  EXPECT_EQ(refusal_of(model_of(text).SerializeAsString()),
            "it has more than 250000 nodes, those of functions counted at every call");
}

TEST_F(OnnxRefusalTest, ConstantsThatAreNotWhatTheySay) {
  const auto refused = [](const auto& change) {
    onnx::ModelProto model = model_of(
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> "
        "{ y = Add(x, w) }");
    change(*model.mutable_graph()->mutable_initializer(0));
    return refusal_of(model.SerializeAsString());
  };
  EXPECT_EQ(refused([](auto& w) { w.set_dims(0, 3); }), "constant 'w' has 2 elements, but extents for 3");
  EXPECT_EQ(refused([](auto& w) { w.set_dims(0, -1); }), "constant 'w' has an extent of -1");
  EXPECT_EQ(refused([](auto& w) { w.set_dims(0, INT64_MAX); }), "constant 'w' has more elements than memory can hold");
  EXPECT_EQ(refused([](auto& w) {
              w.set_dims(0, 0);
              w.add_dims(INT64_MAX);
              w.add_dims(INT64_MAX);
            }),
            "constant 'w' has more elements than memory can hold");
  EXPECT_EQ(refused([](auto& w) { w.set_data_type(onnx::TensorProto::STRING); }),
            "constant 'w' is of string, expected float, double, float16, bfloat16 or integers");
  EXPECT_EQ(refused([](auto& w) {
              w.clear_float_data();
              w.set_raw_data("abc");
            }),
            "constant 'w' has 3 bytes, but extents for 8");
  EXPECT_EQ(refused([](auto& w) {
              for (int i = 0; i < 20; ++i) w.add_dims(1);
            }),
            "constant 'w' has 21 axes, expected 8 or fewer");
}

TEST_F(OnnxRefusalTest, SmallFilesThatMakeMuch) {
  std::string text = "(float[1] x) => (float[1] y) <int64[1] n = {65536}> { y = Relu(x) ";
  for (int i = 0; i < 400; ++i) text += "a" + std::to_string(i) + " = ConstantOfShape(n) ";
  EXPECT_NE(refusal_of_graph(17, text + "}").find("makes more of the file than eight times its bytes and 64 MiB"),
            std::string::npos);
}

constexpr const char* too_much = "makes more of the file than eight times its bytes and 64 MiB";

TEST_F(OnnxRefusalTest, SmallFilesThatReadMuch) {
  const auto refused = [](const std::string& constant, const std::string& node) {
    std::string text = "(float[70000] x) => (float[1] y) <int64[1] n = {60000}, int64 zero = {0}> { " + constant;
    for (int i = 0; i < 300; ++i) text += " a" + std::to_string(i) + " = " + node;
    return refusal_of_graph(17, text + " y = Relu(x) }");
  };
  // Integers that many nodes take one of, that they take for places, and that they count from the end.
  EXPECT_NE(refused("c = ConstantOfShape<value = int64[1] {1}>(n)", "Gather(c, zero)").find(too_much),
            std::string::npos);
  EXPECT_NE(refused("c = ConstantOfShape<value = int64[1] {1}>(n)", "Gather(x, c)").find(too_much), std::string::npos);
  EXPECT_NE(refused("c = ConstantOfShape<value = int64[1] {-1}>(n)", "Gather(x, c)").find(too_much), std::string::npos);
}

TEST_F(OnnxRefusalTest, StatisticsThatAreWidenedOftenAreTooMuch) {
  need_type<f16>();
  std::string text = "(float16[1, 4, 1, 1] x) => (float16[1, 4, 1, 1] y) <float16[4] s = {1, 1, 1, 1}> { ";
  for (int i = 0; i < 12; ++i) text += "a" + std::to_string(i) + " = BatchNormalization(x, s, s, s, s) ";
  onnx::ModelProto model = model_of("<ir_version: 8, opset_import: [\"\" : 17]> g " + text + "y = Relu(x) }");
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "?");
  constexpr std::int64_t channels = 1 << 20;
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(channels);
  auto& statistics = *model.mutable_graph()->mutable_initializer(0);
  statistics.clear_int32_data();
  statistics.set_dims(0, channels);
  statistics.set_raw_data(std::string(2 * channels, '\0'));
  EXPECT_NE(refusal_of(model.SerializeAsString()).find(too_much), std::string::npos);
}

TEST_F(OnnxRefusalTest, AttributesThatFunctionsTakeOften) {
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"l\" : 1]> g (float[2] x) => (float[2] y) { y = l.f<big = [1]>(x) } "
      "<domain: \"l\", opset_import: [\"\" : 17]> f <big> (a) => (b) { b = Relu<big: ints = @big>(a) }");
  auto& big = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  for (int i = 0; i < 100'000; ++i) big.add_ints(i);
  auto& reader = *model.mutable_functions(0)->mutable_node(0);
  const onnx::AttributeProto reference = reader.attribute(0);
  for (int i = 0; i < 1000; ++i) {
    auto& each = *reader.add_attribute();
    each = reference;
    each.set_name("big" + std::to_string(i));
  }
  EXPECT_NE(refusal_of(model.SerializeAsString()).find(too_much), std::string::npos);
}

TEST_F(OnnxRefusalTest, FunctionsWhoseHeadsAreReadOften) {
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"l\" : 1]> g (float[2] x) => (float[2] y) { y = l.f(x) } "
      "<domain: \"l\", opset_import: [\"\" : 17]> f (a) => (b) { b = Relu(a) }");
  auto& function = *model.mutable_functions(0);
  auto& import = *function.add_opset_import();
  import.set_domain(std::string(1 << 20, 'd'));
  auto& graph = *model.mutable_graph();
  for (int i = 0; i < 100; ++i) {
    *graph.add_node() = graph.node(0);
    graph.mutable_node(i + 1)->set_output(0, "y" + std::to_string(i));
  }
  EXPECT_NE(refusal_of(model.SerializeAsString()).find(too_much), std::string::npos);
}

TEST_F(OnnxRefusalTest, NodesThatBecomeManyCallsOrOperands) {
  const std::string much =
      "with it the file makes more than 1000000 calls and operands, those of functions counted at every call";
  std::string text = "(float[1] x) => (float y) <int64[1] n = {250}> { ";
  for (int i = 0; i < 4000; ++i) text += "a" + std::to_string(i) + " = Expand(x, n) ";
  EXPECT_EQ(refusal_of_graph(17, text + "y = Relu(x) }"), "node (Expand): " + much);
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"portops\" : 1]> g (float[2] x) => (float[2] y) "
      "{ y = portops.split<sections = [2], axis = 0>(x) }");
  auto& split = *model.mutable_graph()->mutable_node(0);
  auto& count = *split.add_attribute();
  count.set_name("out.count");
  count.set_type(onnx::AttributeProto::INT);
  count.set_i(1);
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "?");
  for (int i = 0; i < 1'000'000; ++i) split.mutable_attribute(0)->add_ints(0);
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "node (split): " + much);
}

/// An empty sequence may be repeated any number of times, and levels written down in one file be made again by each
/// node.
TEST_F(OnnxRefusalTest, LevelsThatBecomeMany) {
  const auto too_much = [](const std::string& refusal) {
    return refusal.find("makes more of the file") != std::string::npos;
  };
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"portops\" : " + std::to_string(graph::onnx_schema_version()) +
      "]> g (float[0] x) => (float y) { y = portops.sequence_expand(x) }");
  onnx::StringStringEntryProto& levels = *model.add_metadata_props();
  levels.set_key("portops.levels.x");
  levels.set_value("0,0");
  onnx::AttributeProto& repeats = *model.mutable_graph()->mutable_node(0)->add_attribute();
  repeats.set_name("y.levels");
  repeats.set_type(onnx::AttributeProto::STRING);
  for (const char* count : {"0,50000000", "0,1000000000000", "0,9000000000000000000"}) {
    repeats.set_s(count);
    EXPECT_TRUE(too_much(refusal_of(model.SerializeAsString()))) << refusal_of(model.SerializeAsString());
  }
  repeats.set_s("0,3");
  EXPECT_EQ(graph::parse_onnx(model.SerializeAsString()).calls()[0].op, "sequence_expand");

  std::string offsets = "0";
  for (int i = 0; i < 100'000; ++i) offsets += ",0";
  levels.set_value(offsets);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_node();
  for (int i = 0; i < 1000; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_domain("portops");
    node.set_op_type("sequence_concat");
    node.add_input("x");
    node.add_output(i == 0 ? "y" : "y" + std::to_string(i));
    onnx::AttributeProto& count = *node.add_attribute();
    count.set_name("x.count");
    count.set_type(onnx::AttributeProto::INT);
    count.set_i(1);
  }
  EXPECT_TRUE(too_much(refusal_of(model.SerializeAsString()))) << refusal_of(model.SerializeAsString());
}

/// Before they are parsed: a node of two bytes takes two hundred.
TEST_F(OnnxRefusalTest, FilesOfManySmallParts) {
  const auto refused = [](std::uint8_t field) {
    std::string graph(2'400'000, static_cast<char>(0));
    for (std::size_t i = 0; i < graph.size(); i += 2) graph[i] = static_cast<char>(field << 3 | 2);
    onnx::ModelProto model;
    model.set_ir_version(8);
    std::string bytes = model.SerializeAsString() + "\x3a";
    for (std::size_t left = graph.size(); left > 0; left >>= 7)
      bytes += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    return refusal_of(bytes + graph).substr(0, 66);
  };
  const std::string expected = "it has more than 1075000 nodes, names and other parts, expected fe";
  // Nodes, constants, inputs, names.
  for (const std::uint8_t field : {1, 5, 11, 2}) EXPECT_EQ(refused(field), expected) << int{field};
}

TEST_F(OnnxRefusalTest, ElementsOutsideOfTheFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("portops_onnx_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "model");
  std::ofstream(folder / "model" / "w.bin", std::ios::binary) << std::string(16, '\0');
  std::ofstream(folder / "secret", std::ios::binary) << std::string(16, '\0');
  std::filesystem::create_symlink("../secret", folder / "model" / "link");
  const auto refused = [&](const std::string& location, const std::string& offset, const std::string& length) {
    onnx::ModelProto model = model_of(
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> "
        "{ y = Add(x, w) }");
    auto& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto* entry = w.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return refusal_of(model.SerializeAsString(), {.folder = folder / "model"});
  };
  EXPECT_EQ(refused("w.bin", "8", "8"), "?");
  EXPECT_EQ(refused("", "", ""), "constant 'w' lies outside of the file, but nothing says where");
  for (const char* location : {"../secret", "link", "/etc/passwd", "a/../../secret", ".."}) {
    EXPECT_EQ(refused(location, "", ""),
              "constant 'w' lies in '" + std::string(location) + "', which leads out of the folder of the file");
  }
  EXPECT_EQ(refused("w.bin", "12", ""),
            "constant 'w' lies from byte 12 on in 'w.bin' and has 8 bytes, but that ends at 16");
  EXPECT_EQ(refused("w.bin", "18446744073709551615", ""),
            "constant 'w' lies from byte 18446744073709551615 on in 'w.bin' and has 8 bytes, but that ends at 16");
  EXPECT_EQ(refused("w.bin", "-8", ""), "constant 'w' has the offset '-8', expected a number of bytes");
  EXPECT_EQ(refused("w.bin", "", "4"), "constant 'w' has 4 bytes, but extents for 8");
  std::filesystem::remove_all(folder);
}

TEST_F(OnnxRefusalTest, AbsurdExtents) {
  EXPECT_NE(refusal_of_graph(17, "(float[9223372036854775807, 4] x) => (float[2] y) { y = Relu(x) }").find("input 'x'"),
            std::string::npos);
  EXPECT_NE(
      refusal_of_graph(17, "(float[9] x) => (float y) <int64[1] n = {9223372036854775807}> { y = ConstantOfShape(n) }")
          .find("makes more than 65536 elements"),
      std::string::npos);
  EXPECT_NE(refusal_of_graph(17,
                             "(float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float y) { y = Conv<pads = "
                             "[9223372036854775807, 0, 0, 0]>(x, w) }")
                .find("pads has a 9223372036854775807"),
            std::string::npos);
  EXPECT_NE(refusal_of_graph(17, "(float[1] x) => (float y) <int64[1] n = {1000000}> { y = Expand(x, n) }")
                .find("repeats axis 0"),
            std::string::npos);
  EXPECT_NE(refusal_of_graph(
                17, "(float[1] x) => (float y) <int64 a = {9223372036854775807}> { b = Add(a, a) y = Reshape(x, b) }")
                .find("which gives no integer of 64 bits"),
            std::string::npos);
}

TEST_F(OnnxRefusalTest, NumbersAtTheEndsOf64Bits) {
  // Messages name file and node, whoever throws first.
  EXPECT_EQ(
      refusal_of_graph(17, R"((float[2] x) => (float y) <int64[2] n = {1099511627776, 1099511627776}> {
              y = Reshape(x, n) })"),
      "node (Reshape): portops::Extents: [1099511627776, 1099511627776] has more elements than 64 bits can count");
  const std::string x = "(float[0, 0, 4611686018427387904, 4611686018427387904] x) => (float y) ";
  const std::string text =
      "portops::Extents: [4611686018427387904, 4611686018427387904] has more elements than 64 bits can count";
  EXPECT_EQ(refusal_of_graph(17, x + "{ y = Flatten<axis = 2>(x) }"), "node (Flatten): " + text);
  EXPECT_EQ(refusal_of_graph(11, x + "{ y = Softmax<axis = 2>(x) }"), "node (Softmax): " + text);
  EXPECT_EQ(refusal_of_graph(17, R"((float[0, 9223372036854775807] x) => (float y)
              <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] many = {9223372036854775807}> {
              y = Slice(x, zero, many, one, two) })"),
            "?");
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <int64 from = {0}, int64 to = {0}, "
      "int64 by = {-1}> { r = Range(from, to, by) y = Relu(x) }");
  auto& to = *model.mutable_graph()->mutable_initializer(1);
  to.clear_raw_data();
  to.clear_int64_data();
  to.add_int64_data(INT64_MIN);
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "node (Range): goes from 0 to -9223372036854775808 by -1");
}

TEST_F(OnnxRefusalTest, ElementTypesThatDiffer) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    for (const char* type : {"double", "float16"}) {
      const std::string refusal = refusal_of_graph(
          17, "(float[4] x) => (float[4] y) <" + std::string(type) + " two = {2}> { y = " + op + "(x, two) }");
      EXPECT_NE(refusal.find("element type"), std::string::npos) << op << ", " << type << ": " << refusal;
    }
  }
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (double[2] y) { y = Relu(x) }"),
            "output 'y' is declared as double, but is float");
  need_type<f16>();
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float16[1] x) => (float16[1] y) <float16[1] w = {1}> "
      "{ y = Mul(x, w) }");
  auto& bits = *model.mutable_graph()->mutable_initializer(0);
  bits.clear_raw_data();
  bits.clear_int32_data();
  bits.add_int32_data(0x13c00);
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "constant 'w' has the element 80896, which has more than 16 bits");
}

TEST_F(OnnxRefusalTest, ListsOfIntegersThatAreNone) {
  const std::string head =
      "(float[2] x) => (float y) <int64[3] d = {1, 2, 3}, int64[1] zero = {0}, int64[1] one = {1}, ";
  EXPECT_EQ(refusal_of_graph(17, head + "int64[1] seven = {7}> { s = Slice(d, zero, one, seven) y = Expand(x, s) }"),
            "node (Slice): has the axis 7 of 1");
  EXPECT_NE(refusal_of_graph(17, head + "int64 number = {4}> { s = Concat<axis = 0>(d, number) y = Expand(x, s) }"),
            "?");
}

TEST_F(OnnxRefusalTest, BoundsThatAreNoNumbers) {
  const auto refused = [](const std::string& constants, const std::string& node) {
    return refusal_of_graph(17, "(float[2] x, float b) => (float[2] y) <" + constants + "> { y = " + node + " }");
  };
  EXPECT_EQ(refused("float zero = {0}", "Clip(x, b)"),
            "node (Clip): min is computed when the program runs, expected a constant");
  EXPECT_EQ(refused("float zero = {0}", "Clip(x, zero, b)"),
            "node (Clip): max is computed when the program runs, expected a constant");
  EXPECT_EQ(refused("float[2] two = {0, 1}", "Clip(x, two)"), "node (Clip): min has extents [2], expected one element");
  EXPECT_EQ(refused("float[0] none = {}", "Clip(x, , none)"), "node (Clip): max has extents [0], expected one element");
  EXPECT_EQ(refused("int64 zero = {0}", "Clip(x, zero)"),
            "node (Clip): min has element type i64, expected f32, that of x");
  EXPECT_EQ(refused("double six = {6}", "Clip(x, , six)"),
            "node (Clip): max has element type f64, expected f32, that of x");
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <float zero = {0}> "
      "{ y = Clip(x, zero) }");
  model.mutable_graph()->mutable_node(0)->set_name("bounded");
  model.mutable_graph()->mutable_initializer(0)->set_float_data(0, std::nanf(""));
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "node 'bounded' (Clip): min is nan, expected a number");
  EXPECT_NE(refusal_of_graph(17, "(int64[2] x) => (int64[2] y) <int64 zero = {0}> { y = Clip(x, zero) }")
                .find("node (Clip): portops::clip: x has element type i64"),
            std::string::npos);
}

TEST_F(OnnxRefusalTest, WhatHasNoCall) {
  EXPECT_EQ(
      refusal_of_graph(17, "(float[1, 1, 4, 4] x) => (float y, int64 i) { y, i = MaxPool<kernel_shape = [2, 2]>(x) }"),
      "node (MaxPool): gives the places of the maxima, which calls count otherwise");
  EXPECT_EQ(refusal_of_graph(
                17, "(float[1, 1, 4, 4] x) => (float y) { y = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(x) }"),
            "node (MaxPool): has dilations, which no call of a pool has");
  EXPECT_EQ(refusal_of_graph(17, "(float[1, 1, 4, 4, 4] x, float[1, 1, 1, 1, 1] w) => (float y) { y = Conv(x, w) }"),
            "node (Conv): has x of extents [1, 1, 4, 4, 4], expected images of one or two spatial axes");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x, int64[1] n) => (float y) { y = Reshape(x, n) }"),
            "node (Reshape): input 1, 'n', is computed when the program runs, expected a constant: extents and axes "
            "are fixed when a file "
            "is read");
  EXPECT_EQ(refusal_of_graph(17, "(float[2] x) => (double y) { y = Cast<to = 11>(x) }"),
            "node (Cast): converts f32 to double when the program runs, which no call does");
  EXPECT_EQ(refusal_of_graph(15,
                             "(float[2, 3] x, float[3] s) => (float y) { y, m, v = BatchNormalization<training_mode = "
                             "1>(x, s, s, s, s) }"),
            "node (BatchNormalization): trains, and programs of files infer");
}

}  // namespace
}  // namespace portops::test
