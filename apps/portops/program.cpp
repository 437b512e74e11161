// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#if defined(PORTOPS_HAS_ONNX)

#include "common/npy.hpp"
#include "common/output_file.hpp"
#include "common/program.hpp"
#include "common/transfer.hpp"
#include "common/values.hpp"

#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>
#include <portops/graph/compile.hpp>
#include <portops/graph/execution.hpp>
#include <portops/graph/onnx.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace portops::apps {

namespace {

using graph::Program;

/// The words of the command line, sorted by what the file says that they are.
struct Words {
  graph::ReadOnnxParams params;           ///< extents
  std::map<std::string, NpyFile> inputs;  ///< by name
  std::map<std::string, std::string> outputs;
};

/// "2,3,16,16"; none where it is something else.
std::optional<Extents> parse_extents(const std::string& name, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789,[]") != std::string::npos) return std::nullopt;
  const AttributeInfo info{
      .name = name, .description = {}, .type = AttributeType::integers, .default_value = {}, .names = {}};
  return Extents(std::span<const std::int64_t>(std::get<std::vector<std::int64_t>>(parse_attribute(info, text))));
}

Words sort_words(const ProgramRequest& request) {
  const std::vector<std::string> inputs = graph::onnx_inputs(request.file);
  Words words;
  std::vector<std::string> names;
  for (const std::string& argument : request.arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
      throw Error(request.file + ": found '" + argument + "', expected NAME=FILE.npy, NAME=EXTENTS or EXTENT=NUMBER");
    }
    const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(request.file + ": " + name + " is given twice, expected once");
    }
    names.push_back(name);
    const bool is_input = std::find(inputs.begin(), inputs.end(), name) != inputs.end();
    if (const auto extents = parse_extents(name, value)) {
      if (is_input) words.params.inputs[name] = *extents;
      if (!is_input && extents->rank() != 1) throw Error(request.file + ": there is no input '" + name + "'");
      if (!is_input) words.params.extents[name] = (*extents)[0];
    } else if (is_input) {
      words.params.inputs[name] = words.inputs.emplace(name, value).first->second.extents();
    } else {
      words.outputs[name] = value;
    }
  }
  return words;
}

Context context_of(const ProgramRequest& request) {
  Context ctx(choose_device(request.backend).backend);
  if (request.deterministic) ctx.deterministic(true);
  if (request.math) ctx.math(*request.math);
  if (request.products) ctx.products(*request.products);
  return ctx;
}

/// A name in a stranger's file.
std::string shown(const std::string& name) { return without_controls(name, '?'); }

std::string text_of(const graph::ValueInfo& value) {
  return std::string(name_of(value.type)) + " " + value.extents.to_string();
}

void check_output_names(const ProgramRequest& request, const Program& program, const Words& words) {
  for (const auto& [name, file] : words.outputs) {
    std::string names;
    bool is_there = false;
    for (const graph::ProgramOutput& each : program.outputs()) {
      append_item(names, each.name);
      is_there = is_there || each.name == name;
    }
    if (!is_there)
      throw Error(request.file + ": there is no input, output or open extent '" + name + "'; outputs are " + names);
  }
}

struct OpenProgram {
  Words words;
  Program program;
};

/// The words of a call, and the program that they are about.
OpenProgram open_program(const ProgramRequest& request) {
  Words words = sort_words(request);
  Program program = graph::read_onnx(request.file, words.params);
  check_output_names(request, program, words);
  return {std::move(words), std::move(program)};
}

/// The elements of a file, last axis fastest.
Tensor packed(const NpyTensor& file) {
  const TensorRef& x = file.ref;
  const Tensor result(x.type(), x.extents());
  const std::size_t bytes = size_of(x.type());
  auto* out = result.data<std::byte>();
  Extents index = Extents::of_rank(x.rank());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t place = 0;
    for (int axis = 0; axis < x.rank(); ++axis) place += index[axis] * x.stride(axis);
    std::memcpy(out + static_cast<std::size_t>(i) * bytes,
                static_cast<const std::byte*>(x.data()) + place * static_cast<std::int64_t>(bytes), bytes);
    for (int axis = x.rank() - 1; axis >= 0 && ++index[axis] == x.extent(axis); --axis) index[axis] = 0;
  }
  return result;
}

using Inputs = std::map<std::string, Tensor>;  ///< on the host

/// The inputs' elements. Throws Error where a file is missing, unless random ones are wanted in its place.
Inputs read_inputs(const ProgramRequest& request, const Program& program, Words& words, bool may_be_random) {
  Inputs inputs;
  std::mt19937 random(1);
  for (const graph::ValueId each : program.inputs()) {
    const graph::ValueInfo& value = program.value(each);
    const auto file = words.inputs.find(value.name);
    if (file != words.inputs.end()) {
      inputs[value.name] = packed(file->second.read(value.type));
      continue;
    }
    if (!may_be_random) {
      throw Error(request.file + ": input " + value.name + " is missing, expected " + value.name + "=FILE.npy, " +
                  text_of(value));
    }
    const Tensor tensor(value.type, value.extents);
    std::memset(tensor.ref().data(), 0, static_cast<std::size_t>(tensor.ref().size()) * size_of(value.type));
    if (value.type != ElementType::i64) {  // places stay 0
      with_type(value.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (std::int64_t i = 0; i < tensor.ref().size(); ++i) {
          tensor.data<T>()[i] = element_cast<T, double>(static_cast<double>(random()) / 0x1p31 - 1.0);
        }
      });
    }
    inputs[value.name] = tensor;
  }
  return inputs;
}

/// The outputs of a run, on the host, in their order.
std::vector<Tensor> results_of(const Context& ctx, const Program& program, graph::Execution& execution,
                               const Inputs& inputs) {
  for (const auto& [name, tensor] : inputs) copy(ctx, tensor, execution.input(name));
  execution.run();
  std::vector<Tensor> results;
  for (const graph::ProgramOutput& output : program.outputs()) {
    const TensorRef result = execution.output(output.name);
    results.emplace_back(result.type(), result.extents());
    copy(ctx, result, results.back());
  }
  ctx.fence();
  return results;
}

std::string mebibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

void describe_program(const ProgramRequest& request, std::ostream& out) {
  auto [words, program] = open_program(request);
  const Runtime runtime;
  const Context ctx = context_of(request);
  const graph::CompiledProgram compiled(ctx, program);
  std::map<std::string, int> counts;
  std::int64_t constants = 0;
  for (const graph::Call& call : program.calls()) ++counts[call.op];
  for (const graph::ValueInfo& value : program.values()) {
    if (value.origin == graph::Origin::constant) {
      constants += value.extents.product() * static_cast<std::int64_t>(size_of(value.type));
    }
  }
  for (const graph::ValueId each : program.inputs()) {
    out << "input      " << shown(program.value(each).name) << ": " << text_of(program.value(each)) << '\n';
  }
  for (const graph::ProgramOutput& each : program.outputs()) {
    out << "output     " << shown(each.name) << ": " << text_of(program.value(each.value)) << '\n';
  }
  std::string operators;
  for (const auto& [op, count] : counts) append_item(operators, std::to_string(count) + " " + op);
  out << "calls      " << program.calls().size() << ": " << operators << '\n';
  out << "constants  " << mebibytes(constants) << '\n';
  out << "enqueued   " << compiled.calls() << " calls on " << name_of(compiled.backend()) << '\n';
  out << "memory     " << mebibytes(compiled.arena_bytes()) << " in one arena, of which at most "
      << mebibytes(compiled.live_bytes()) << " live at one time\n";
  out << "\nPlan\n";
  const std::string plan = compiled.to_string();
  for (std::size_t begin = 0; begin < plan.size();) {
    const std::size_t end = std::min(plan.find('\n', begin), plan.size());
    out << "  " << plan.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

void run_program_file(const ProgramRequest& request) {
  auto [words, program] = open_program(request);
  if (words.outputs.empty())
    throw Error(request.file + ": no output is named, expected " + program.outputs()[0].name + "=FILE.npy");
  for (const auto& [output, file] : words.outputs) {
    for (const auto& [input, its] : words.inputs) {
      if (is_same_file(file, its.name())) {
        throw Error(request.file + ": output " + output + " and input " + input + " are the same file " + file +
                    ", expected different files");
      }
    }
    for (const auto& [other, its] : words.outputs) {
      if (other < output && is_same_file(file, its)) {
        throw Error(request.file + ": outputs " + other + " and " + output + " are the same file " + file +
                    ", expected different files");
      }
    }
  }
  std::deque<OutputFile> files;
  for (const auto& [name, file] : words.outputs) files.emplace_back(file);
  const Inputs inputs = read_inputs(request, program, words, false);
  const Runtime runtime;
  const Context ctx = context_of(request);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program));
  const std::vector<Tensor> results = results_of(ctx, program, execution, inputs);
  std::size_t next = 0;
  for (const auto& [name, file] : words.outputs) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (program.outputs()[i].name == name) write_npy(files[next], results[i]);
    }
    ++next;
  }
  OutputFile::commit(files);
}

namespace {

/// How far results are apart, relative to the largest one.
struct Distance {
  double largest = 0;  ///< magnitude of what is compared with
  double apart = 0;    ///< the largest difference; infinite where one is no number and the other one is
};

Distance distance_of(const Context& ctx, const Tensor& result, const Tensor& expected) {
  Distance distance;
  const auto numbers = [&](const Tensor& tensor) {
    if (tensor.ref().type() != ElementType::i64) return values_of(ctx, tensor);
    const auto* begin = tensor.data<std::int64_t>();
    return std::vector<double>(begin, begin + tensor.ref().size());
  };
  const std::vector<double> a = numbers(result), b = numbers(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) distance.largest = std::max(distance.largest, std::abs(b[i]));
    const bool is_same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const double apart = is_same ? 0 : std::abs(a[i] - b[i]);
    distance.apart = std::max(distance.apart, std::isnan(apart) ? INFINITY : apart);
  }
  return distance;
}

double allowed(ElementType type) {
  switch (type) {
    case ElementType::f64: return 1e-9;
    case ElementType::f32: return 1e-4;
    case ElementType::f16: return 1e-2;
    case ElementType::bf16: return 5e-2;
    case ElementType::i64: break;
  }
  return 0;
}

}  // namespace

void check_program(const ProgramRequest& request, std::ostream& out) {
  auto [words, program] = open_program(request);
  const Inputs inputs = read_inputs(request, program, words, true);
  const Runtime runtime;
  const Context ctx = context_of(request);
  graph::Execution careful(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits()),
                           {.poison = true});
  const std::vector<Tensor> expected = results_of(ctx, program, careful, inputs);
  graph::Execution planned(ctx, graph::CompiledProgram(ctx, program));
  const std::vector<Tensor> results = results_of(ctx, program, planned, inputs);
  std::string wrong;
  const auto compare = [&](const std::string& name, const char* with, const Tensor& result, const Tensor& other) {
    const Distance distance = distance_of(ctx, result, other);
    out << shown(name) << ": " << name_of(result.ref().type()) << " " << result.ref().extents().to_string()
        << ", up to " << to_string(distance.largest) << "; from " << with << " " << to_string(distance.apart) << '\n';
    if (distance.apart > allowed(result.ref().type()) * distance.largest) append_item(wrong, name + " from " + with);
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& name = program.outputs()[i].name;
    compare(name, "the plain calls", results[i], expected[i]);
    const auto file = words.outputs.find(name);
    if (file == words.outputs.end()) continue;
    NpyFile given(file->second);
    if (given.extents() != results[i].ref().extents()) {
      throw Error(file->second + ": has extents " + given.extents().to_string() + ", but " + name + " " +
                  results[i].ref().extents().to_string());
    }
    compare(name, "the file", results[i], packed(given.read(results[i].ref().type())));
  }
  if (!wrong.empty()) throw Error(request.file + ": results differ by more than rounding: " + wrong);
}

void time_program(const ProgramRequest& request, std::ostream& out) {
  using Clock = std::chrono::steady_clock;
  auto [words, program] = open_program(request);
  const Inputs inputs = read_inputs(request, program, words, true);
  const Runtime runtime;
  const Context ctx = context_of(request);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program));
  results_of(ctx, program, execution, inputs);  // the first run is not like the others
  if (ctx.backend() == Backend::cuda) execution.capture();
  constexpr std::size_t most = 100000;
  std::vector<double> milliseconds;
  const auto wanted = request.repeats > 0 ? static_cast<std::size_t>(request.repeats) : most;
  const Clock::time_point start = Clock::now();
  while (milliseconds.size() < wanted) {
    const Clock::time_point begin = Clock::now();
    if (request.repeats == 0 && milliseconds.size() > 2 && begin - start > std::chrono::seconds(2)) break;
    execution.run();
    ctx.fence();
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  char text[120];
  std::snprintf(text, sizeof text, "%.4f ms a run, the quickest %.4f, of %zu", milliseconds[milliseconds.size() / 2],
                milliseconds.front(), milliseconds.size());
  out << "backend  " << name_of(ctx.backend()) << "\ntime     " << text << '\n';
}

}  // namespace portops::apps

#endif
