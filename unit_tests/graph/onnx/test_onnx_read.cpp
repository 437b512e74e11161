// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/onnx_support.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/divide.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/p_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/subtract.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/tanh.hpp>
#include <portops/ops/transpose.hpp>

// What operators of ONNX become.

namespace portops::test {
namespace {

/// The calls of a graph: what to_string() has behind inputs and constants, without the outputs.
std::string calls_of(const graph::Program& program) {
  const std::string all = program.to_string();
  std::string calls;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    const std::string line = all.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with("input ") && !line.starts_with("constant ") && !line.starts_with("output "))
      calls += line + "\n";
  }
  return calls;
}

std::string calls_of(int operator_set, const std::string& text) { return calls_of(read_graph(operator_set, text)); }

class OnnxReadTest : public testing::Test {
 protected:
  void SetUp() override { need_type<float>(); }
};

TEST_F(OnnxReadTest, APlainProgram) {
  EXPECT_EQ(
      read_graph(17, R"((float[2, 3] x) => (float[2, 3] y) <float[3] b = {1, 2, 3}> { s = Add(x, b) y = Relu(s) })")
          .to_string(),
      "input x: f32 [2, 3]\n"
      "constant b: f32 [3]\n"
      "s: f32 [2, 3] = add(x = x, y = b)\n"
      "y: f32 [2, 3] = relu(x = s)\n"
      "output y = y\n");
}

TEST_F(OnnxReadTest, ArithmeticAndActivations) {
  EXPECT_EQ(calls_of(20, R"((float[2] x) => (float[2] y) <float two = {2}, float[1] half = {0.5}> {
              a = Mul(two, x) b = Sub(a, half) c = Div(b, x) d = Neg(c) e = Pow(d, two) f = Sum(e, x, x)
              g = Sigmoid(f) h = Tanh(g) i = Gelu<approximate = "tanh">(h) y = Identity(i) })"),
            "a: f32 [2] = multiply(x = x, y = 2)\n"
            "b: f32 [2] = subtract(x = a, y = 0.5)\n"
            "c: f32 [2] = divide(x = b, y = x)\n"
            "d: f32 [2] = multiply(x = c, y = -1)\n"
            "e: f32 [2] = multiply(x = d, y = d)\n"
            "add_5: f32 [2] = add(x = e, y = x)\n"
            "f: f32 [2] = add(x = add_5, y = x)\n"
            "g: f32 [2] = sigmoid(x = f)\n"
            "h: f32 [2] = tanh(x = g)\n"
            "i: f32 [2] = gelu(x = h, approximate = tanh)\n");
}

TEST_F(OnnxReadTest, ASwish) {
  constexpr int operator_set = 24;
  const auto known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN);
  if (known.second < operator_set) GTEST_SKIP() << "the build's ONNX has none";
  EXPECT_EQ(calls_of(operator_set, "(float[2] x) => (float[2] y) { y = Swish(x) }"), "y: f32 [2] = silu(x = x)\n");
}

TEST_F(OnnxReadTest, Bounds) {
  for (const int operator_set : {11, 12, 13, 22}) {
    EXPECT_EQ(calls_of(operator_set, R"((float[2] x) => (float[2] y) <float zero = {0}, float[1] six = {6}> {
                a = Clip(x, zero, six) b = Clip(a, zero) half = Constant<value = float {0.5}>() c = Clip(b, , half)
                d = Clip(c) y = Identity(d) })"),
              "a: f32 [2] = clip(x = x, min = 0, max = 6)\n"
              "b: f32 [2] = clip(x = a, min = 0)\n"
              "c: f32 [2] = clip(x = b, max = 0.5)\n"
              "d: f32 [2] = clip(x = c)\n");
  }
  need_type<f16>();
  EXPECT_EQ(calls_of(13,
                     "(float16[2] x) => (float16[2] y) <float six = {6}> { h = Cast<to = 10>(six) "
                     "y = Clip(x, , h) }"),
            "y: f16 [2] = clip(x = x, max = 6)\n");
}

TEST_F(OnnxReadTest, HardActivations) {
  EXPECT_EQ(calls_of(14, R"((float[2] x) => (float[2] y) {
              a = HardSigmoid(x) b = HardSigmoid<alpha = 0.25, beta = 1.0>(a) c = HardSwish(b) y = Identity(c) })"),
            "a: f32 [2] = hard_sigmoid(x = x, slope = 0.20000000298023224)\n"
            "b: f32 [2] = hard_sigmoid(x = a, slope = 0.25, offset = 1)\n"
            "c: f32 [2] = hard_swish(x = b)\n");
}

TEST_F(OnnxReadTest, AGeluInPieces) {
  const std::string head =
      "(float[2] x) => (float[2] y) <float root = {1.4142135}, float one = {1}, float half = {0.5}> "
      "{ d = Div(x, root) e = Erf(d) o = Add(e, one) ";
  for (const char* tail : {"m = Mul(x, o) y = Mul(m, half) }", "h = Mul(x, half) y = Mul(h, o) }",
                           "h = Mul(o, half) y = Mul(x, h) }", "m = Mul(o, x) y = Mul(half, m) }"}) {
    const std::string calls = calls_of(13, head + tail);
    EXPECT_NE(calls.find("y: f32 [2] = gelu(x = x)\n"), std::string::npos) << calls;
  }
  EXPECT_EQ(refusal_of_graph(13, head + "y = Relu(o) }"),
            "node (Relu): reads an erf that is no part of x · (1 + erf(x / √2)) / 2, for which alone there is a call");
  // Another number is another function.
  const auto with = [&](const std::string& root, const std::string& one, const std::string& half) {
    return refusal_of_graph(13, "(float[2] x) => (float[2] y) <float root = {" + root + "}, float one = {" + one +
                                    "}, float half = {" + half +
                                    "}> { d = Mul(x, root) e = Erf(d) o = Add(e, one) "
                                    "m = Mul(x, o) y = Mul(m, half) }");
  };
  EXPECT_EQ(with("0.707107", "1", "0.5"), "?");
  EXPECT_NE(with("0.7075", "1", "0.5"), "?");
  EXPECT_NE(with("0.70710678", "1.0005", "0.5"), "?");
  EXPECT_NE(with("0.70710678", "1", "0.5002"), "?");
  EXPECT_EQ(refusal_of_graph(13, "(float[2] x) => (float[2] y) { y = Erf(x) }"),
            "node (Erf): no call has the meaning of this operator, but in x · (1 + erf(x / √2)) / 2");
}

TEST_F(OnnxReadTest, Products) {
  EXPECT_EQ(calls_of(13, R"((float[2, 3] a, float[4, 3] b, float[4] c, float[1, 4] d) => (float[2, 4] y) {
              p = Gemm<transB = 1>(a, b, c) q = Gemm<alpha = 2.0, transB = 1, beta = 0.5>(a, b, d) y = Add(p, q) })"),
            "p: f32 [2, 4] = linear(x = a, weight = b, bias = c, transpose_weight = true)\n"
            "matmul_1: f32 [2, 4] = matmul(x = a, y = b, transpose_y = true)\n"
            "multiply_2: f32 [2, 4] = multiply(x = matmul_1, y = 2)\n"
            "multiply_3: f32 [1, 4] = multiply(x = d, y = 0.5)\n"
            "q: f32 [2, 4] = add(x = multiply_2, y = multiply_3)\n"
            "y: f32 [2, 4] = add(x = p, y = q)\n");
}

TEST_F(OnnxReadTest, Windows) {
  EXPECT_EQ(calls_of(11, R"((float[1, 4, 8, 8] x, float[6, 2, 3, 3] w) => (float[1, 6, 4, 7] y) {
              y = Conv<group = 2, strides = [2, 1], pads = [1, 0, 0, 1]>(x, w) })"),
            "y: f32 [1, 6, 4, 7] = conv2d(x = x, weight = w, stride = [2, 1], padding = [1, 0, 0, 1], groups = 2)\n");
  EXPECT_EQ(
      calls_of(11, R"((float[1, 4, 7] x, float[4, 1, 4] w) => (float[1, 4, 4] y) {
              y = Conv<group = 4, strides = [2], auto_pad = "SAME_UPPER">(x, w) })"),
      "reshape_0: f32 [1, 4, 1, 7] = reshape(x = x, shape = [1, 4, 1, 7])\n"
      "reshape_1: f32 [4, 1, 1, 4] = reshape(x = w, shape = [4, 1, 1, 4])\n"
      "conv2d_2: f32 [1, 4, 1, 4] = conv2d(x = reshape_0, weight = reshape_1, stride = [1, 2], padding = [0, 1, 0, 2], "
      "groups = 4)\n"
      "y: f32 [1, 4, 4] = reshape(x = conv2d_2, shape = [1, 4, 4])\n");
  EXPECT_EQ(
      calls_of(19,
               R"((float[1, 4, 5, 5] x, float[2, 4, 3, 3] w, float[1, 18, 3, 3] o, float[2] b, float[1, 9, 3, 3] m) =>
              (float[1, 2, 3, 3] y) { y = DeformConv(x, w, o, b, m) })"),
      "y: f32 [1, 2, 3, 3] = deform_conv2d(x = x, offset = o, weight = w, mask = m, bias = b, padding = [0, 0, 0, "
      "0])\n");
  EXPECT_EQ(
      calls_of(22, R"((float[1, 4, 9, 9] x) => (float[1, 4, 1, 1] y) {
              a = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1>(x)
              b = AveragePool<kernel_shape = [2, 2]>(a) y = GlobalAveragePool(b) })"),
      "a: f32 [1, 4, 5, 5] = pool2d(x = x, kernel_size = [3, 3], stride = [2, 2], padding = [1, 1, 1, 1], ceil_mode = "
      "true)\n"
      "b: f32 [1, 4, 4, 4] = pool2d(x = a, kernel_size = [2, 2], stride = [1, 1], padding = [0, 0, 0, 0], pooltype = "
      "avg)\n"
      "y: f32 [1, 4, 1, 1] = pool2d(x = b, pooltype = avg, global_pooling = true)\n");
}

TEST_F(OnnxReadTest, NormalisationsAndReductions) {
  EXPECT_EQ(calls_of(17, R"((float[2, 3, 4] x, float[3] s, float[4] l) => (float[2, 3, 4] y, float[2, 3, 1] m) {
              a = BatchNormalization<epsilon = 0.5>(x, s, s, s, s) y, m = LayerNormalization<axis = -1, epsilon = 0.25>(a, l, l) })"),
            "a: f32 [2, 3, 4], batch_norm_0.saved_mean: f32 [3], batch_norm_0.saved_inv_std: f32 [3] = batch_norm(x = "
            "x, mean = s, "
            "variance = s, scale = s, bias = s, epsilon = 0.5, is_test = true)\n"
            "y: f32 [2, 3, 4], layer_norm_1.mean: f32 [2, 3], layer_norm_1.inv_std: f32 [2, 3] = layer_norm(x = a, "
            "scale = l, bias = "
            "l, epsilon = 0.25, begin_norm_axis = 2)\n"
            "m: f32 [2, 3, 1] = reshape(x = layer_norm_1.mean, shape = [2, 3, 1])\n");
  EXPECT_EQ(calls_of(11, "(float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax(x) }"),
            "reshape_0: f32 [2, 12] = reshape(x = x, shape = [2, 12])\n"
            "softmax_1: f32 [2, 12] = softmax(x = reshape_0, axis = 1)\n"
            "y: f32 [2, 3, 4] = reshape(x = softmax_1, shape = [2, 3, 4])\n");
  EXPECT_EQ(calls_of(13, "(float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax<axis = 1>(x) }"),
            "y: f32 [2, 3, 4] = softmax(x = x, axis = 1)\n");
  EXPECT_EQ(calls_of(18, R"((float[2, 3, 4] x) => (float y) <int64[2] axes = {-1, 0}> {
              a = ReduceSum(x, axes) b = ReduceMean<keepdims = 0>(a) c = ReduceL2<keepdims = 0>(x) y = Add(b, c) })"),
            "a: f32 [1, 3, 1] = sum(x = x, axis = [2, 0], keepdim = true)\n"
            "b: f32 [] = mean(x = a, axis = [0, 1, 2])\n"
            "c: f32 [] = p_norm(x = x, axis = [0, 1, 2])\n"
            "y: f32 [] = add(x = b, y = c)\n");
}

TEST_F(OnnxReadTest, Layouts) {
  EXPECT_EQ(
      calls_of(
          13,
          R"((float[2, 3, 4] x) => (float[4, 6] y) <int64[3] shape = {0, -1, 2}, int64[1] axis = {0}, int64[2] parts = {1, 3}> {
              a = Reshape(x, shape) b = Flatten(a) c = Unsqueeze(b, axis) d = Squeeze(c) e = Transpose(x)
              f, g = Split(e, parts) h = Concat<axis = 0>(g, f) y = Flatten<axis = 1>(h) })"),
      "a: f32 [2, 6, 2] = reshape(x = x, shape = [2, 6, 2])\n"
      "b: f32 [2, 12] = reshape(x = a, shape = [2, 12])\n"
      "c: f32 [1, 2, 12] = reshape(x = b, shape = [1, 2, 12])\n"
      "d: f32 [2, 12] = reshape(x = c, shape = [2, 12])\n"
      "e: f32 [4, 3, 2] = transpose(x = x, perm = [2, 1, 0])\n"
      "f: f32 [1, 3, 2], g: f32 [3, 3, 2] = split(x = e, sections = [1, 3])\n"
      "h: f32 [4, 3, 2] = concat(x = [g, f])\n"
      "y: f32 [4, 6] = reshape(x = h, shape = [4, 6])\n");
}

TEST_F(OnnxReadTest, SlicesAndGathers) {
  EXPECT_EQ(
      calls_of(
          13,
          R"((float[5, 4] x, int64[3] ids) => (float y) <int64 last = {-1}, int64[2] some = {3, 1}, int64[2] next = {1, 2},
              int64[1] two = {2}, int64[1] zero = {0}, int64[1] many = {9223372036854775807}, int64[1] minus = {-2}> {
              a = Gather<axis = 1>(x, last) b = Gather(x, ids) c = Gather<axis = 1>(x, some) d = Gather(x, next)
              e = Slice(c, zero, many, zero, two) y = Slice(x, minus, many, zero) z = Slice(x, zero, many) })"),
      "slice_0: f32 [5, 1] = slice(x = x, axes = [1], starts = [3], ends = [4])\n"
      "a: f32 [5] = reshape(x = slice_0, shape = [5])\n"
      "b: f32 [3, 4] = embedding(weight = x, ids = ids)\n"
      "transpose_3: f32 [4, 5] = transpose(x = x, perm = [1, 0])\n"
      "embedding_4: f32 [2, 5] = embedding(weight = transpose_3, ids = some)\n"
      "c: f32 [5, 2] = transpose(x = embedding_4, perm = [1, 0])\n"
      "d: f32 [2, 4] = slice(x = x, axes = [0], starts = [1], ends = [3])\n"
      "e: f32 [3, 2] = slice(x = c, axes = [0], starts = [0], ends = [5], strides = [2])\n"
      "y: f32 [2, 4] = slice(x = x, axes = [0], starts = [-2], ends = [5], strides = [1])\n");
}

/// Backwards ONNX begins no earlier than at the first element, of constants too.
TEST_F(OnnxReadTest, SlicesBackwards) {
  EXPECT_EQ(calls_of(13, R"((float[5] x) => (float y)
              <int64[1] before = {-100}, int64[1] end = {-9223372036854775808}, int64[1] back = {-1}, int64[1] zero = {0},
               int64[2] d = {7, 8}> {
              a = Slice(x, before, end, zero, back) s = Slice(d, before, end, zero, back) y = Expand(a, s) })"),
            "a: f32 [1] = slice(x = x, axes = [0], starts = [-5], ends = [-6], strides = [-1])\n"
            "y: f32 [7] = concat(x = [a, a, a, a, a, a, a])\n");
}

TEST_F(OnnxReadTest, PowersOfEveryType) {
  EXPECT_EQ(calls_of(15, "(float[2] x) => (float[2] y) <int64 two = {2}> { y = Pow(x, two) }"),
            "y: f32 [2] = multiply(x = x, y = x)\n");
  EXPECT_EQ(calls_of(15, "(float[2] x) => (float[2] y) <double two = {2}> { y = Pow(x, two) }"),
            "y: f32 [2] = multiply(x = x, y = x)\n");
}

/// A call of a function may leave out inputs at the end, and so may the function then.
TEST_F(OnnxReadTest, InputsThatCallsOfFunctionsLeaveOut) {
  EXPECT_EQ(calls_of(graph::parse_onnx(model_of(R"(<ir_version: 8, opset_import: ["" : 17, "l" : 1]>
  g (float[2] x) => (float[2] y) <float one = {1}> { a = l.f(x) y = l.f(a, one) }
  <domain: "l", opset_import: ["" : 17, "l" : 1]> f (a, b) => (c) { c = l.inner(a, b) }
  <domain: "l", opset_import: ["" : 17]> inner (a, b) => (c) { c = Clip(a, b) })")
                                           .SerializeAsString())),
            "a: f32 [2] = clip(x = x)\n"
            "y: f32 [2] = clip(x = a, min = 1)\n");
}

TEST_F(OnnxReadTest, ALayerNormalisationInPieces) {
  const std::string calls =
      calls_of(13, R"((float[2, 4] x, float[4] s) => (float[2, 4] y) <float two = {2}, float epsilon = {0.5}> {
              m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes = [-1]>(q)
              e = Add(v, epsilon) r = Sqrt(e) n = Div(d, r) y = Mul(n, s) })");
  EXPECT_NE(calls.find("n: f32 [2, 4], layer_norm_5.mean: f32 [2], layer_norm_5.inv_std: f32 [2] = layer_norm(x = x, "
                       "epsilon = 0.5)\n"),
            std::string::npos)
      << calls;
  EXPECT_EQ(refusal_of_graph(13, "(float[2] x) => (float[2] y) { y = Sqrt(x) }"),
            "node (Sqrt): no call has the meaning of this operator, but of constants, and in (x − mean) / √(variance + "
            "epsilon)");
}

TEST_F(OnnxReadTest, ExtentsAreComputedWhenAFileIsRead) {
  EXPECT_EQ(
      calls_of(13, R"((float[2, 3, 4] x) => (float[6, 4] y) <int64 one = {1}, int64[1] axis = {0}, int64 zero = {0}> {
              s = Shape(x) a = Gather(s, zero) b = Gather(s, one) c = Mul(a, b) d = Unsqueeze(c, axis)
              rest = Constant<value_ints = [-1]>() shape = Concat<axis = 0>(d, rest) y = Reshape(x, shape) })"),
      "y: f32 [6, 4] = reshape(x = x, shape = [6, 4])\n");
}

TEST_F(OnnxReadTest, OpenExtentsAreGiven) {
  const std::string text = "(float[batch, 3] x) => (float[batch, 3] y) { y = Relu(x) }";
  EXPECT_EQ(refusal_of_graph(13, text), "input 'x' leaves its extent along axis 0 open, as 'batch': say which it has");
  EXPECT_EQ(read_graph(13, text, {.extents = {{"batch", 7}}}).value({0}).extents, (Extents{7, 3}));
  EXPECT_EQ(read_graph(13, text, {.inputs = {{"x", {5, 3}}}}).value({0}).extents, (Extents{5, 3}));
  EXPECT_EQ(refusal_of_graph(13, text, {.inputs = {{"x", {5, 4}}}}),
            "input 'x' has the extent 3 along axis 1, but was given the extents [5, 4]");
  EXPECT_EQ(refusal_of_graph(13, text, {.inputs = {{"x", {5, 3}}, {"z", {5, 4}}}}),
            "no input is named 'z', whose extents were given");
}

TEST_F(OnnxReadTest, FunctionsAreCalledByTheirBodies) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.twice<by = 3.0>(x) }
    <domain: "local", opset_import: ["" : 17]> twice <by> (a) => (b) { f = Constant<value_float: float = @by>() c = Mul(a, f) b = Add(c, a) })";
  EXPECT_EQ(graph::parse_onnx(model_of(text).SerializeAsString()).to_string(),
            "input x: f32 [2]\n"
            "multiply_0: f32 [2] = multiply(x = x, y = 3)\n"
            "y: f32 [2] = add(x = multiply_0, y = x)\n"
            "output y = y\n");
}

TEST_F(OnnxReadTest, AttributesOfFunctions) {
  const std::string function = "f <axis: int = 1, other> (a) => (b) { b = Softmax<axis: int = @axis>(a) }";
  EXPECT_EQ(calls_of(graph::parse_onnx(bytes_with_function(
                "(float[2, 3, 4] x) => (float[2, 3, 4] y) { z = l.f<axis = 0>(x) y = l.f(z) }", function))),
            "z: f32 [2, 3, 4] = softmax(x = x, axis = 0)\n"
            "y: f32 [2, 3, 4] = softmax(x = z, axis = 1)\n");
  // What neither the call nor the function gives has the operator's default.
  EXPECT_EQ(
      calls_of(graph::parse_onnx(bytes_with_function("(float[2, 3, 4] x) => (float[2, 3, 4] y) { y = l.f(x) }",
                                                     "f <axis> (a) => (b) { b = Softmax<axis: int = @axis>(a) }"))),
      "y: f32 [2, 3, 4] = softmax(x = x, axis = 2)\n");
}

TEST_F(OnnxReadTest, FunctionsGivePieces) {
  const std::string erf = "f (a) => (b) { r = Constant<value_float = 0.70710678>() d = Mul(a, r) b = Erf(d) }";
  const std::string head = "(float[2] x) => (float[2] y) <float one = {1}, float half = {0.5}> { e = l.f(x) ";
  const std::string gelu =
      calls_of(graph::parse_onnx(bytes_with_function(head + "o = Add(e, one) m = Mul(x, o) y = Mul(m, half) }", erf)));
  EXPECT_NE(gelu.find("y: f32 [2] = gelu(x = x)\n"), std::string::npos) << gelu;
  EXPECT_EQ(refusal_of(bytes_with_function(head + "y = Relu(e) }", erf)),
            "node (Relu): reads an erf that is no part of x · (1 + erf(x / √2)) / 2, for which alone there is a call");

  const std::string root =
      "f (d) => (r) { epsilon = Constant<value_float = 0.5>() q = Mul(d, d) v = ReduceMean<axes = [-1]>(q) "
      "e = Add(v, epsilon) r = Sqrt(e) }";
  const std::string begin =
      "(float[2, 4] x) => (float[2, 4] y) { m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) r = l.f(d) ";
  const std::string calls = calls_of(graph::parse_onnx(bytes_with_function(begin + "y = Div(d, r) }", root)));
  EXPECT_NE(calls.find(" = layer_norm(x = x, epsilon = 0.5)\n"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("divide"), std::string::npos) << calls;
  for (const char* reader : {"y = Relu(r) }", "y = Shape(r) }", "y = Div(x, r) }"}) {
    EXPECT_NE(refusal_of(bytes_with_function(begin + reader, root)).find("reads a square root that is no part"),
              std::string::npos)
        << reader;
  }
}

TEST_F(OnnxReadTest, FunctionsGiveConstantsThatTheyHaveRead) {
  const std::string calls = calls_of(graph::parse_onnx(
      bytes_with_function("(float[4, 3] x) => (float[3, 2] y) { b, s = l.f(x) y = Reshape(b, s) }",
                          "f (a) => (b, s) { s = Constant<value_ints = [3, 2]>() b = Gather(a, s) }")));
  EXPECT_NE(calls.find("y: f32 [3, 2] = reshape(x = b, shape = [3, 2])\n"), std::string::npos) << calls;
}

TEST_F(OnnxReadTest, ConstantsAreMadeOnce) {
  EXPECT_EQ(graph::parse_onnx(bytes_with_function(
                                  "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = l.f(x, w) y = l.f(a, w) }",
                                  "f (a, w) => (b) { b = Add(a, w) }"))
                .to_string(),
            "input x: f32 [2]\n"
            "constant constant_1: f32 [2]\n"
            "a: f32 [2] = add(x = x, y = constant_1)\n"
            "y: f32 [2] = add(x = a, y = constant_1)\n"
            "output y = y\n");
  const graph::Program program =
      read_graph(13, R"((float[5, 4] x) => (float[2, 4] y) <int64[2] some = {3, 1}, int64[2] back = {-1, 0}> {
              a = Gather(x, some) b = Gather(x, some) c = Gather(x, back) d = Add(a, b) y = Add(c, d) })");
  std::vector<std::vector<std::int64_t>> constants;
  for (const graph::ValueInfo& value : program.values()) {
    if (value.origin != graph::Origin::constant) continue;
    const auto* begin = value.elements.data<std::int64_t>();
    constants.emplace_back(begin, begin + value.elements.ref().size());
  }
  EXPECT_EQ(constants, (std::vector<std::vector<std::int64_t>>{{3, 1}, {4, 0}}));
}

TEST_F(OnnxReadTest, Casts) {
  // Seven times what the casts give is a shape.
  const auto read = [](const std::string& constant, const std::string& casts) {
    return refusal_of_graph(17, "(float[1, 7] x) => (float y) <" + constant + ", int64[1] seven = {7}> { " + casts +
                                    " s = Mul(c, seven) y = Reshape(x, s) }");
  };
  EXPECT_EQ(read("float[1] n = {0.5}", "b = Cast<to = 9>(n) c = Cast<to = 7>(b)"), "?");
  EXPECT_EQ(read("int64[1] n = {256}", "b = Cast<to = 9>(n) c = Cast<to = 7>(b)"), "?");
  EXPECT_EQ(read("float[1] n = {1.9}", "b = Cast<to = 2>(n) c = Cast<to = 7>(b)"), "?");
  EXPECT_EQ(read("int64[1] n = {1}", "b = Cast<to = 10>(n) c = Cast<to = 6>(b)"), "?");
  const std::string none = ", which has no such number";
  EXPECT_EQ(read("int64[1] n = {300}", "c = Cast<to = 2>(n)"), "node (Cast): converts 300 to uint8" + none);
  EXPECT_EQ(read("float[1] n = {-1.5}", "c = Cast<to = 2>(n)"), "node (Cast): converts -1 to uint8" + none);
  EXPECT_EQ(read("int64[1] n = {-129}", "c = Cast<to = 3>(n)"), "node (Cast): converts -129 to int8" + none);
  EXPECT_EQ(read("int64[1] n = {2147483648}", "c = Cast<to = 6>(n)"),
            "node (Cast): converts 2147483648 to int32" + none);
  // Of a program that runs, integers are all of one type, and no call converts.
  for (const char* to : {"2", "3", "4", "5", "9"}) {
    const std::string refusal =
        refusal_of_graph(17, std::string("(int64[2] x) => (int64[2] y) { y = Cast<to = ") + to + ">(x) }");
    EXPECT_NE(refusal.find(" when the program runs, which no call does"), std::string::npos) << to << refusal;
  }
  EXPECT_EQ(
      calls_of(17, "(int64[2] x) => (int64[2] y) { a = Cast<to = 6>(x) b = Cast<to = 12>(a) y = Cast<to = 7>(b) }"),
      "");
}

TEST_F(OnnxReadTest, BooleansAreZeroAndOne) {
  onnx::ModelProto model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[5] x) => (float[1] y) <bool[1] b = {1}> { y = Gather(x, b) "
      "}");
  auto& constant = *model.mutable_graph()->mutable_initializer(0);
  constant.clear_int32_data();
  constant.set_raw_data("\4");
  EXPECT_EQ(calls_of(graph::parse_onnx(model.SerializeAsString())),
            "y: f32 [1] = slice(x = x, axes = [0], starts = [1], ends = [2])\n");
  constant.clear_raw_data();
  constant.add_int32_data(4);
  EXPECT_EQ(calls_of(graph::parse_onnx(model.SerializeAsString())),
            "y: f32 [1] = slice(x = x, axes = [0], starts = [1], ends = [2])\n");
  constant.set_data_type(onnx::TensorProto::INT8);
  constant.set_int32_data(0, 300);
  EXPECT_EQ(refusal_of(model.SerializeAsString()), "constant 'b' has the element 300, which is no int8");
}

TEST_F(OnnxReadTest, ReshapesOfNothing) {
  EXPECT_EQ(calls_of(17, R"((float[2, 0] x) => (float y) <int64[1] none = {0}, int64[2] wide = {3, 0}> {
              a = Reshape<allowzero = 1>(x, none) y = Reshape<allowzero = 1>(a, wide) })"),
            "a: f32 [0] = reshape(x = x, shape = [-1])\n"
            "y: f32 [3, 0] = reshape(x = a, shape = [3, -1])\n");
  EXPECT_EQ(refusal_of_graph(17, R"((float[2, 0] x) => (float y) <int64[2] none = {0, 0}> {
              y = Reshape<allowzero = 1>(x, none) })"),
            "node (Reshape): makes extents [0, 0] of [2, 0], which no call of reshape says");
}

}  // namespace
}  // namespace portops::test
