// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"
#include "graph/onnx/onnx_support.hpp"
#include "graph/random_program.hpp"
#include "test_files.hpp"

#include <portops/core/memory_use.hpp>
#include <portops/graph/compile.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/mean.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

// Files from anywhere: changed at random they are read or refused, within their memory, and what is read is written and
// planned; nothing else happens. Environment variables make campaigns of it: PORTOPS_FUZZ_RUNS, how many files there
// are, or PORTOPS_FUZZ_SECONDS, for how long they are made; PORTOPS_FUZZ_SEED, the first one's number.

namespace portops::test {
namespace {

/// Functions that call each other, with what is kept of names that are no values: steps of a gelu and of a layer
/// normalisation, constants, attributes with and without defaults.
constexpr const char* functions = R"(<ir_version: 8, opset_import: ["" : 17, "l" : 1]>
  g (float[2, 4] x, int64[3] ids) => (float[2, 4] y, float[3, 4] z)
    <float one = {1}, float half = {0.5}, int64[2] some = {1, 0}, int64 none = {0}> {
      e = l.erf(x) o = Add(e, one) m = Mul(x, o) a = Mul(m, half) b = l.norm<by = 3.0>(a) c, s = l.rows(b)
      i = Cast<to = 6>(ids) j = Cast<to = 7>(i) z = Gather(c, j) t = Gather(x, some) u = l.scaled(t)
      k = Gather(s, none) l = Range(none, k, k) n = ConstantOfShape(l)
      v = Clip(u, half, one) w = HardSigmoid<alpha = 0.3>(v) q = HardSwish(w) y = Add(q, c) }
  <domain: "l", opset_import: ["" : 17]> erf (a) => (b) {
      r = Constant<value_float = 0.70710678>() d = Mul(a, r) b = Erf(d) }
  <domain: "l", opset_import: ["" : 17]> scaled <by: float = 2.0> (a) => (b) {
      f = Constant<value_float: float = @by>() b = Mul(a, f) }
  <domain: "l", opset_import: ["" : 17, "l" : 1]> norm <by> (x) => (y) {
      m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [-1]>(q)
      p = Constant<value_float = 0.5>() e = Add(v, p) r = Sqrt(e) n = Div(d, r) y = l.scaled<by: float = @by>(n) }
  <domain: "l", opset_import: ["" : 17]> rows (a) => (b, s) {
      s = Constant<value_ints = [1, 0]>() g = Gather(a, s) h = Shape(g) b = Reshape<allowzero = 1>(g, h) })";

std::string file_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(PORTOPS_TEST_FILES) / "graph" / "onnx")) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) files.push_back(file_of(path));
  for (std::uint64_t seed = 0; seed < 8; ++seed) files.push_back(graph::onnx_model(RandomProgram(seed, 12).program()));
  for (int i = 0; i < 6; ++i) files.push_back(model_of(functions).SerializeAsString());
  return files;
}

class Mutations {
 public:
  explicit Mutations(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t count) { return random_.bits() % std::max<std::uint64_t>(count, 1); }

  /// Bytes: changed, cut out, doubled, exchanged, numbers that lie near the ends of their types.
  std::string of_bytes(std::string file) {
    for (std::uint64_t i = 1 + below(4); i > 0 && !file.empty(); --i) {
      const std::size_t place = below(file.size());
      const std::size_t count = std::min<std::size_t>(1 + below(16), file.size() - place);
      switch (below(6)) {
        case 0: file[place] = static_cast<char>(random_.bits()); break;
        case 1: file[place] = static_cast<char>(file[place] ^ (1 << below(8))); break;
        case 2: file.erase(place, count); break;
        case 3: file.insert(place, file.substr(place, count)); break;
        case 4: file.resize(place); break;
        default: file.insert(place, std::string(9, '\xff') + '\x01'); break;  // a number of 64 bits
      }
    }
    return file;
  }

  /// What is still a model, but says something else.
  std::string of_model(const std::string& file) {
    onnx::ModelProto model;
    model.ParseFromString(file);
    for (std::uint64_t i = 1 + below(3); i > 0; --i) {
      onnx::FunctionProto* function = one_of(*model.mutable_functions());
      switch (below(6)) {
        case 0: change_graph(*model.mutable_graph()); break;
        case 1:
          if (function != nullptr) change_function(*function);
          break;
        case 2:
          if (function != nullptr) change_node(*function->mutable_node());
          break;
        case 3:
          if (below(4) != 0) continue;
          if (auto* import = one_of(*model.mutable_opset_import())) import->set_version(small());
          break;
        default: change_node(*model.mutable_graph()->mutable_node());
      }
    }
    return model.SerializeAsString();
  }

 private:
  std::int64_t small() { return static_cast<std::int64_t>(below(30)); }

  std::int64_t number() {
    static constexpr std::int64_t numbers[] = {
        INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, 2, 3, 255, INT32_MAX, std::int64_t{1} << 40, INT64_MAX - 1, INT64_MAX};
    return below(3) == 0 ? static_cast<std::int64_t>(below(12)) : numbers[below(std::size(numbers))];
  }

  /// Null where there is none.
  template <class T>
  T* one_of(google::protobuf::RepeatedPtrField<T>& list) {
    return list.empty() ? nullptr : list.Mutable(static_cast<int>(below(static_cast<std::uint64_t>(list.size()))));
  }

  void change_node(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    if (nodes.empty()) return;
    onnx::NodeProto& node = *one_of(nodes);
    onnx::NodeProto& other = *one_of(nodes);
    switch (below(9)) {
      case 0: node.Swap(&other); break;
      case 1:
        node.set_op_type(other.op_type());
        if (below(2) == 0) node.set_domain(other.domain());
        break;
      case 2:
        if (node.input_size() > 0 && other.output_size() > 0) node.set_input(0, other.output(0));
        break;
      case 3: node.add_input(other.input_size() > 0 ? other.input(0) : ""); break;
      case 4:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        break;
      case 5: *nodes.Add() = onnx::NodeProto(node); break;
      case 6:
        if (const auto* attribute = one_of(*other.mutable_attribute())) *node.add_attribute() = *attribute;
        break;
      default:
        for (auto& attribute : *node.mutable_attribute()) {
          if (attribute.has_i()) attribute.set_i(below(2) == 0 ? small() : number());
          for (int j = 0; j < attribute.ints_size(); ++j) {
            if (below(2) == 0) attribute.set_ints(j, number());
          }
        }
    }
  }

  void change_function(onnx::FunctionProto& function) {
    const onnx::NodeProto* node = one_of(*function.mutable_node());
    switch (below(5)) {
      case 0:
        if (node != nullptr && node->output_size() > 0 && function.output_size() > 0) {
          function.set_output(0, node->output(0));
        }
        break;
      case 1:
        if (function.input_size() > 0 && function.output_size() > 0) function.set_output(0, function.input(0));
        break;
      case 2: function.add_input(function.input_size() > 0 ? function.input(0) : "a"); break;
      case 3:
        if (auto* attribute = one_of(*function.mutable_attribute_proto())) attribute->set_f(1e30F);
        break;
      default:
        if (node != nullptr) function.set_name(node->op_type());
    }
  }

  void change_graph(onnx::GraphProto& graph) {
    if (graph.input_size() > 0 && below(3) == 0) {
      auto& shape = *one_of(*graph.mutable_input())->mutable_type()->mutable_tensor_type()->mutable_shape();
      if (auto* extent = one_of(*shape.mutable_dim())) extent->set_dim_value(number());
      return;
    }
    onnx::TensorProto* constant = one_of(*graph.mutable_initializer());
    if (constant == nullptr) return;
    if (below(3) == 0) constant->set_data_type(static_cast<int>(small()));
    if (constant->dims_size() > 0 && below(2) == 0) constant->set_dims(0, number());
    if (constant->data_type() != onnx::TensorProto::INT64) return;
    const std::int64_t value = number();
    if (constant->int64_data_size() > 0) constant->set_int64_data(0, value);
    std::string raw = constant->raw_data();
    if (raw.size() < 8) return;
    raw.replace(0, 8, reinterpret_cast<const char*>(&value), 8);
    constant->set_raw_data(raw);
  }

  Random random_;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The program, where the file is not refused. Refusals name it, and reading takes no more memory for elements than the
/// file may ask for, and what is on the way of one tensor to another.
std::optional<graph::Program> read(const std::string& file) {
  std::optional<graph::Program> program;
  reset_memory_peak(MemorySpace::host);
  const std::size_t before = memory_use(MemorySpace::host).bytes;
  try {
    program = graph::parse_onnx(file, {.extents = {{"batch", 2}}});
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("portops::graph::parse_onnx: model: ")) << message;
  }
  EXPECT_LE(memory_use(MemorySpace::host).peak_bytes - before, 16 * file.size() + (std::size_t{128} << 20));
  return program;
}

bool is_small(const graph::Program& program) {
  std::int64_t left = 100'000;  // elements
  for (const graph::ValueInfo& value : program.values()) {
    left -= std::min(value.extents.product(), left + 1);
    if (left < 0) return false;
  }
  return true;
}

/// Plans a program, which is verified. Others than that may refuse what is computed of constants, as places in a table
/// that it does not have.
void compile(const Context& ctx, const graph::Program& program, std::uint64_t seed) {
  graph::CompileParams params;
  params.instances = 1 + static_cast<std::int32_t>(seed % 3);
  params.in_place = seed % 5 != 0;
  params.views = static_cast<graph::Views>(seed / 3 % 3);
  try {
    const graph::CompiledProgram compiled(ctx, program, params);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("the plan is wrong"), std::string::npos) << error.what() << "\n"
                                                                                      << program.to_string();
  }
}

TEST(OnnxFuzzTest, ChangedFilesAreReadOrRefused) {
  need_type<float>();
  const Context ctx(enabled_backends().back());  // a host
  const std::vector<std::string> files = corpus();
  EXPECT_TRUE(read(files.back())) << functions;
  const std::uint64_t first = setting("PORTOPS_FUZZ_SEED", 0), seconds = setting("PORTOPS_FUZZ_SECONDS", 0);
  const std::uint64_t most = setting("PORTOPS_FUZZ_RUNS", seconds > 0 ? UINT64_MAX : 3000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t runs = 0, accepted = 0;
  for (; runs < most && !HasFailure() && (seconds == 0 || std::chrono::steady_clock::now() < end); ++runs) {
    const std::uint64_t seed = first + runs;
    Mutations mutations(seed);
    std::string file = files[mutations.below(files.size())];
    file = mutations.below(3) == 0 ? mutations.of_bytes(file) : mutations.of_model(file);
    SCOPED_TRACE("PORTOPS_FUZZ_SEED=" + std::to_string(seed));
    try {
      const std::optional<graph::Program> program = read(file);
      if (!program) continue;
      ++accepted;
      // What has been read can be written, and read again.
      const std::string again = graph::onnx_model(*program);
      EXPECT_EQ(graph::parse_onnx(again).outputs().size(), program->outputs().size());
      if (is_small(*program)) compile(ctx, *program, seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  if (runs >= 1000) {
    EXPECT_GT(accepted, runs / 50);
    EXPECT_GT(runs - accepted, runs / 50);
  }
}

}  // namespace
}  // namespace portops::test
