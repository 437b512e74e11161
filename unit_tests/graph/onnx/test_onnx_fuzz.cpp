// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"
#include "graph/onnx/onnx_support.hpp"
#include "graph/random_program.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

// Files from anywhere: changed at random they are read or refused, and nothing else happens. Environment variables make
// campaigns of it: PORTOPS_FUZZ_RUNS, how many files there are; PORTOPS_FUZZ_SEED, which.

namespace portops::test {
namespace {

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
    auto& graph = *model.mutable_graph();
    for (std::uint64_t i = 1 + below(3); i > 0 && graph.node_size() > 0; --i) {
      auto& node = *graph.mutable_node(static_cast<int>(below(static_cast<std::uint64_t>(graph.node_size()))));
      auto& other = *graph.mutable_node(static_cast<int>(below(static_cast<std::uint64_t>(graph.node_size()))));
      switch (below(9)) {
        case 0: node.Swap(&other); break;
        case 1: node.set_op_type(other.op_type()); break;
        case 2:
          if (node.input_size() > 0 && other.output_size() > 0) node.set_input(0, other.output(0));
          break;
        case 3: node.add_input(other.input_size() > 0 ? other.input(0) : ""); break;
        case 4:
          if (node.input_size() > 0) node.mutable_input()->RemoveLast();
          break;
        case 5:
          for (auto& attribute : *node.mutable_attribute()) {
            if (attribute.has_i()) attribute.set_i(number());
            for (int j = 0; j < attribute.ints_size(); ++j) {
              if (below(2) == 0) attribute.set_ints(j, number());
            }
          }
          break;
        case 6:
          if (graph.initializer_size() > 0) {
            auto& constant = *graph.mutable_initializer(
                static_cast<int>(below(static_cast<std::uint64_t>(graph.initializer_size()))));
            if (constant.dims_size() > 0) constant.set_dims(0, number());
            if (constant.data_type() == onnx::TensorProto::INT64 && below(2) == 0) {
              std::string raw = constant.raw_data();
              if (raw.size() >= 8) {
                const std::int64_t value = number();
                raw.replace(0, 8, reinterpret_cast<const char*>(&value), 8);
                constant.set_raw_data(raw);
              }
            }
          }
          break;
        case 7:
          if (graph.input_size() > 0) {
            auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
            if (shape.dim_size() > 0)
              shape.mutable_dim(static_cast<int>(below(static_cast<std::uint64_t>(shape.dim_size()))))
                  ->set_dim_value(number());
          }
          break;
        default:
          if (model.opset_import_size() > 0)
            model.mutable_opset_import(0)->set_version(static_cast<std::int64_t>(below(30)));
      }
    }
    return model.SerializeAsString();
  }

 private:
  std::int64_t number() {
    static constexpr std::int64_t numbers[] = {
        INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, 2, 3, 255, INT32_MAX, std::int64_t{1} << 40, INT64_MAX - 1, INT64_MAX};
    return below(3) == 0 ? static_cast<std::int64_t>(below(12)) : numbers[below(std::size(numbers))];
  }

  Random random_;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(OnnxFuzzTest, ChangedFilesAreReadOrRefused) {
  need_type<float>();
  const std::vector<std::string> files = corpus();
  const std::uint64_t first = setting("PORTOPS_FUZZ_SEED", 0), runs = setting("PORTOPS_FUZZ_RUNS", 3000);
  std::uint64_t read = 0, refused = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    Mutations mutations(seed);
    std::string file = files[mutations.below(files.size())];
    file = mutations.below(3) == 0 ? mutations.of_bytes(file) : mutations.of_model(file);
    SCOPED_TRACE("PORTOPS_FUZZ_SEED=" + std::to_string(seed));
    try {
      const graph::Program program = graph::parse_onnx(file, {.extents = {{"batch", 2}}});
      ++read;
      // What has been read can be written, and read again.
      const std::string again = graph::onnx_model(program);
      EXPECT_EQ(graph::parse_onnx(again).outputs().size(), program.outputs().size());
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()), "");
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  if (runs >= 1000) {
    EXPECT_GT(read, runs / 50);
    EXPECT_GT(refused, runs / 50);
  }
}

}  // namespace
}  // namespace portops::test
