// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include "common/npy.hpp"
#include "common/output_file.hpp"
#include "common/transfer.hpp"
#include "common/values.hpp"

#include <portops/core/error.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

namespace portops::apps {

namespace {

template <class Items>
auto find_by_name(const Items& items, std::string_view name) {
  return std::find_if(items.begin(), items.end(), [name](const auto& item) { return item.name == name; });
}

template <class Items>
void append_names(const Items& items, std::string& names) {
  for (const auto& item : items) append_item(names, item.name);
}

/// Files of offsets, one a level, by the name of the tensor that they belong to.
using LevelFiles = std::map<std::string, std::vector<std::string>>;

/// The words of the command line, sorted by what the schema says that they are.
struct Words {
  std::map<std::string, std::string> inputs;  // name -> file
  std::map<std::string, std::string> outputs;
  LevelFiles levels;         // of inputs
  LevelFiles output_levels;  // of outputs
  Arguments values;          // numbers that stand for inputs, and attributes

  bool has_input(const std::string& name) const { return inputs.contains(name) || values.tensor(name) != nullptr; }
};

constexpr std::string_view levels_suffix = ".levels";

/// x.levels=FILE.npy,FILE.npy
void take_levels(const OperatorInfo& op, const std::string& name, const std::string& value, Words& words) {
  const auto input = find_by_name(op.inputs, name);
  const auto output = find_by_name(op.outputs, name);
  const bool is_input = input != op.inputs.end() && input->ragged != Ragged::no;
  const bool is_output = output != op.outputs.end() && !output->levels_rule.empty() && output->levels_rule != "drops";
  const std::string argument = name + std::string(levels_suffix);
  if (!is_input && !is_output) {
    std::string names;
    for (const InputInfo& info : op.inputs) {
      if (info.ragged != Ragged::no) append_item(names, info.name + std::string(levels_suffix));
    }
    throw Error(op.name + ": there are no levels " + argument + ", expected " + (names.empty() ? "none" : names));
  }
  LevelFiles& files = is_input ? words.levels : words.output_levels;
  if (files.contains(name)) throw Error(op.name + ": " + argument + " is given twice, expected once");
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    if (end == begin)
      throw Error(op.name + ": " + argument + " is '" + value + "', expected FILE.npy,… a file a level");
    files[name].push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
}

Words sort_words(const OperatorInfo& op, const std::vector<std::string>& arguments) {
  Words words;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(op.name + ": found '" + argument + "', expected NAME=FILE.npy or ATTRIBUTE=VALUE");
    }
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (name.ends_with(levels_suffix)) {
      take_levels(op, name.substr(0, name.size() - levels_suffix.size()), value, words);
      continue;
    }
    if (words.has_input(name) || words.outputs.contains(name) || words.values.attribute(name) != nullptr) {
      throw Error(op.name + ": " + name + " is given twice, expected once");
    }
    if (const auto attribute = find_by_name(op.attributes, name); attribute != op.attributes.end()) {
      try {
        words.values.set(name, parse_attribute(*attribute, value));
      } catch (const Error& error) {
        throw Error(op.name + ": " + error.what());
      }
      continue;
    }
    const auto input = find_by_name(op.inputs, name);
    if (input == op.inputs.end() && find_by_name(op.outputs, name) == op.outputs.end()) {
      std::string names;
      append_names(op.inputs, names);
      append_names(op.attributes, names);
      append_names(op.outputs, names);
      throw Error(op.name + ": there is no argument '" + name + "', expected " + names);
    }
    if (value.empty()) throw Error(op.name + ": " + name + " is empty, expected " + name + "=FILE.npy");
    if (input == op.inputs.end()) {
      words.outputs[name] = value;
    } else if (const auto number = input->or_number ? parse_number(value) : std::nullopt) {
      words.values.set(name, TensorOrNumber(*number));
    } else {
      words.inputs[name] = value;
    }
  }
  return words;
}

void check_complete(const OperatorInfo& op, const Words& words) {
  for (const InputInfo& input : op.inputs) {
    const bool has_levels = words.levels.contains(input.name);
    if ((input.ragged == Ragged::always || input.ragged == Ragged::levels) && !has_levels) {
      throw Error(op.name + ": the levels of input " + input.name + " are missing, expected " + input.name +
                  ".levels=FILE.npy,…");
    }
    if (input.ragged == Ragged::levels) continue;
    if (input.optional || input.default_number || words.has_input(input.name)) continue;
    throw Error(op.name + ": input " + input.name + " is missing, expected " + input.name + "=FILE.npy");
  }
  for (const AttributeInfo& attribute : op.attributes) {
    if (attribute.default_value || words.values.attribute(attribute.name) != nullptr) continue;
    throw Error(op.name + ": attribute " + attribute.name + " is missing, expected " + attribute.name + "=VALUE");
  }
  for (const OutputInfo& output : op.outputs) {
    if (output.optional || words.outputs.contains(output.name)) continue;
    throw Error(op.name + ": output " + output.name + " is missing, expected " + output.name + "=FILE.npy");
  }
  for (const auto& [name, file] : words.outputs) {
    const std::string& operand = find_by_name(op.outputs, name)->needs_tensor;
    if (operand.empty() || words.inputs.contains(operand)) continue;
    const std::string found = words.has_input(operand) ? " is a number" : " is not given";
    throw Error(op.name + ": " + name + " cannot be computed: " + operand + found + ", expected " + operand +
                "=FILE.npy");
  }
  if (words.outputs.empty()) {
    std::string names;
    append_names(op.outputs, names);
    throw Error(op.name + ": no output is named, expected at least one of " + names);
  }
}

/// Arguments and their files, those of levels too.
std::vector<std::pair<std::string, std::string>> files_of(const std::map<std::string, std::string>& tensors,
                                                          const LevelFiles& levels) {
  std::vector<std::pair<std::string, std::string>> files(tensors.begin(), tensors.end());
  for (const auto& [name, of_levels] : levels) {
    for (const std::string& file : of_levels) files.emplace_back(name + std::string(levels_suffix), file);
  }
  return files;
}

void check_files_differ(const OperatorInfo& op, const Words& words) {
  const auto inputs = files_of(words.inputs, words.levels);
  const auto outputs = files_of(words.outputs, words.output_levels);
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    for (const auto& [name, file] : inputs) {
      if (!is_same_file(output->second, file)) continue;
      throw Error(op.name + ": output " + output->first + " and input " + name + " are the same file " + file +
                  ", expected different files");
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (!is_same_file(output->second, other->second)) continue;
      throw Error(op.name + ": outputs " + other->first + " and " + output->first + " are the same file " +
                  output->second + ", expected different files");
    }
  }
}

using InputFiles = std::map<std::string, NpyFile>;

std::optional<ElementType> own_type(const OperatorInfo& op, const std::string& input) {
  return find_by_name(op.inputs, input)->type;
}

/// Of the inputs that have no type of their own; of all of them where each has one.
ElementType common_type(const OperatorInfo& op, const InputFiles& files) {
  if (files.empty()) throw Error(op.name + ": no input is a file, expected at least one tensor");
  const auto is_common = [&op](const auto& entry) { return !own_type(op, entry.first); };
  const auto first = std::find_if(files.begin(), files.end(), is_common);
  if (first == files.end()) return files.begin()->second.type();
  const auto& [name, file] = *first;
  for (const auto& [other_name, other] : files) {
    if (own_type(op, other_name) || other.type() == file.type()) continue;
    throw Error(op.name + ": " + name + " holds " + std::string(name_of(file.type())) + " and " + other_name +
                " holds " + std::string(name_of(other.type())) +
                ", expected one element type (--dtype converts the inputs)");
  }
  return file.type();
}

/// False for an input of which, with the outputs that are wanted, only the extents count.
bool needs_elements(const OperatorInfo& op, const std::string& input, const Words& words) {
  const bool listed = std::find(op.no_need_buffer.begin(), op.no_need_buffer.end(), input) != op.no_need_buffer.end();
  return !listed || words.outputs.contains(op.no_need_buffer_unless);
}

Levels read_levels(const std::vector<std::string>& files) {
  std::vector<std::vector<std::int64_t>> offsets;
  for (const std::string& name : files) {
    NpyFile file(name);
    if (file.extents().rank() != 1) {
      throw Error(name + ": has extents " + file.extents().to_string() + ", expected one axis, of offsets");
    }
    const NpyTensor level = file.read(ElementType::i64);
    const auto* first = static_cast<const std::int64_t*>(level.ref.data());
    offsets.emplace_back(first, first + file.extents()[0]);
  }
  return Levels(std::move(offsets));
}

Tensor tensor_of(const std::vector<std::int64_t>& offsets) {
  Tensor tensor(ElementType::i64, {static_cast<std::int64_t>(offsets.size())});
  std::copy(offsets.begin(), offsets.end(), tensor.data<std::int64_t>());
  return tensor;
}

void check_output_levels(const OperatorInfo& op, const Words& words,
                         const std::map<std::string, TensorSpec, std::less<>>& specs) {
  for (const auto& [name, files] : words.output_levels) {
    const auto depth = static_cast<std::size_t>(specs.at(name).levels.depth());
    if (files.size() == depth) continue;
    throw Error(op.name + ": " + name + std::string(levels_suffix) + " has " + std::to_string(files.size()) +
                " files, expected " + std::to_string(depth) + ", one a level of " + name);
  }
}

}  // namespace

void run_request(const RunRequest& request) {
  const OperatorInfo& op = find_operator(request.op);
  const Words words = sort_words(op, request.arguments);
  check_complete(op, words);
  check_files_differ(op, words);

  // Whatever can be known to be wrong from the headers is found before a single element is read.
  InputFiles files;
  for (const auto& [name, file] : words.inputs) files.emplace(name, NpyFile(file));
  for (const auto& [name, file] : files) {
    // Numbers can be converted to any type that is computed with: f32 stands for all of them.
    file.check_readable_as(own_type(op, name).value_or(ElementType::f32));
  }
  const ElementType type = request.type ? *request.type : common_type(op, files);
  Arguments shapes = words.values;
  std::map<std::string, ElementType> types;
  for (const auto& [name, file] : files) {
    types[name] = own_type(op, name).value_or(type);
    shapes.set(name, TensorRef::without_data(types[name], file.extents()));
  }
  for (const auto& [name, of_levels] : words.levels) shapes.set(name, read_levels(of_levels));
  const auto specs = infer(op.name, shapes);
  check_output_levels(op, words, specs);
  std::deque<OutputFile> outputs;
  for (const auto& [name, file] : files_of(words.outputs, words.output_levels)) outputs.emplace_back(file);

  const Runtime runtime;
  Context ctx(choose_device(request.backend).backend);
  ctx.deterministic(request.deterministic).math(request.math);

  std::vector<Tensor> inputs;  // keeps the elements
  std::vector<Tensor> results;
  Arguments arguments = words.values;
  for (auto& [name, file] : files) {
    if (needs_elements(op, name, words)) {
      const NpyTensor x = file.read(types[name]);
      const TensorRef stored = inputs.emplace_back(to_backend(ctx, x.storage));
      arguments.set(name, TensorRef(stored.data(), stored.type(), file.extents(), x.ref.strides(), stored.space()));
    } else {
      arguments.set(name, TensorRef::without_data(types[name], file.extents()));
    }
  }
  for (const auto& [name, levels] : shapes.levels()) arguments.set(name, levels);
  for (const auto& [name, file] : words.outputs) {
    const TensorSpec& spec = specs.at(name);
    arguments.set(name, results.emplace_back(spec.type, spec.extents, default_memory_space(ctx.backend())).ref());
  }
  run(op.name, ctx, arguments);

  for (std::size_t i = 0; i < results.size(); ++i) write_npy(outputs[i], to_host(ctx, results[i]));
  std::size_t next = results.size();
  for (const auto& [name, of_levels] : words.output_levels) {
    for (int level = 0; level < specs.at(name).levels.depth(); ++level) {
      write_npy(outputs[next++], tensor_of(specs.at(name).levels.offsets(level)));
    }
  }
  OutputFile::commit(outputs);
}

}  // namespace portops::apps
