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
#include <span>
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

/// The files of an argument; of a list several, of which those of outputs that are not wanted are "".
using Files = std::vector<std::string>;

/// The words of the command line, sorted by what the schema says that they are.
struct Words {
  std::map<std::string, Files> inputs;  // by name
  std::map<std::string, Files> outputs;
  std::map<std::string, Files> levels;         // of inputs: offsets, a file a level
  std::map<std::string, Files> output_levels;  // of outputs
  Arguments values;                            // numbers that stand for inputs, and attributes

  bool has_input(const std::string& name) const { return inputs.contains(name) || values.tensor(name) != nullptr; }
};

/// "x", or "x[1]" of a list.
std::string item_name(const std::string& name, bool is_list, std::size_t index) {
  return is_list ? name + "[" + std::to_string(index) + "]" : name;
}

Files split_files(const OperatorInfo& op, const std::string& name, const std::string& value, bool is_list,
                  bool may_lack_items) {
  if (value.empty()) {
    throw Error(op.name + ": " + name + " is empty, expected " + name + "=FILE.npy" + (is_list ? ",FILE.npy…" : ""));
  }
  if (!is_list) return {value};
  Files files;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = value.find(',', begin);
    files.push_back(value.substr(begin, end - begin));
    if (!files.back().empty() || may_lack_items) continue;
    throw Error(op.name + ": " + item_name(name, true, files.size() - 1) + " is empty, expected " + name +
                "=FILE.npy,FILE.npy…");
  }
  return files;
}

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
  auto& files = is_input ? words.levels : words.output_levels;
  if (files.contains(name)) throw Error(op.name + ": " + argument + " is given twice, expected once");
  files[name] = split_files(op, argument, value, true, is_output && output->list && output->optional);
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
    const auto output = find_by_name(op.outputs, name);
    if (input == op.inputs.end() && output == op.outputs.end()) {
      std::string names;
      append_names(op.inputs, names);
      append_names(op.attributes, names);
      append_names(op.outputs, names);
      throw Error(op.name + ": there is no argument '" + name + "', expected " + names);
    }
    if (input == op.inputs.end()) {
      words.outputs[name] = split_files(op, name, value, output->list, output->optional);
    } else if (const auto number = input->or_number ? parse_number(value) : std::nullopt) {
      words.values.set(name, TensorOrNumber(*number));
    } else {
      words.inputs[name] = split_files(op, name, value, input->list, false);
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
  for (const auto& [name, files] : words.outputs) {
    const std::string& operand = find_by_name(op.outputs, name)->needs_tensor;
    if (operand.empty() || words.inputs.contains(operand)) continue;
    const std::string found = words.has_input(operand) ? " is a number" : " is not given";
    throw Error(op.name + ": " + name + " cannot be computed: " + operand + found + ", expected " + operand +
                "=FILE.npy");
  }
  const auto is_wanted = [](const auto& output) {
    return std::any_of(output.second.begin(), output.second.end(),
                       [](const std::string& file) { return !file.empty(); });
  };
  if (std::none_of(words.outputs.begin(), words.outputs.end(), is_wanted)) {
    std::string names;
    append_names(op.outputs, names);
    throw Error(op.name + ": no output is named, expected at least one of " + names);
  }
}

/// A file and the argument that it belongs to.
struct NamedFile {
  std::string name;
  std::string file;
};

/// Those of levels too.
template <class Infos>
std::vector<NamedFile> named_files(const Infos& infos, const std::map<std::string, Files>& arguments,
                                   const std::map<std::string, Files>& levels) {
  std::vector<NamedFile> result;
  for (const auto& [name, files] : arguments) {
    const bool is_list = find_by_name(infos, name)->list;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!files[i].empty()) result.push_back({item_name(name, is_list, i), files[i]});
    }
  }
  for (const auto& [name, files] : levels) {
    for (const std::string& file : files) {
      if (!file.empty()) result.push_back({name + std::string(levels_suffix), file});
    }
  }
  return result;
}

void check_files_differ(const OperatorInfo& op, const Words& words) {
  std::map<FileIdentity, NamedFile> inputs;
  std::map<FileIdentity, NamedFile> outputs;
  for (const NamedFile& input : named_files(op.inputs, words.inputs, words.levels)) {
    inputs.try_emplace(identity_of(input.file), input);
  }
  for (const NamedFile& output : named_files(op.outputs, words.outputs, words.output_levels)) {
    const FileIdentity identity = identity_of(output.file);
    if (const auto input = inputs.find(identity); input != inputs.end()) {
      throw Error(op.name + ": output " + output.name + " and input " + input->second.name + " are the same file " +
                  input->second.file + ", expected different files");
    }
    const auto [other, is_new] = outputs.try_emplace(identity, output);
    if (is_new) continue;
    throw Error(op.name + ": outputs " + other->second.name + " and " + output.name + " are the same file " +
                output.file + ", expected different files");
  }
}

using InputFiles = std::map<std::string, std::vector<NpyFile>>;

InputFiles open_inputs(const Words& words) {
  InputFiles result;
  for (const auto& [name, files] : words.inputs) {
    for (const std::string& file : files) result[name].emplace_back(file);
  }
  return result;
}

bool is_true(const OperatorInfo& op, const Arguments& values, const std::string& attribute) {
  const Attribute* value = values.attribute(attribute);
  return std::get<bool>(value != nullptr ? *value : *find_by_name(op.attributes, attribute)->default_value);
}

bool has_own_type(const OperatorInfo& op, const std::string& input, const Arguments& values) {
  const InputInfo& info = *find_by_name(op.inputs, input);
  if (!info.type_unless.empty() && is_true(op, values, info.type_unless)) return false;
  return info.type || info.type_of_sums || info.type_of_parameters;
}

/// The element type of an input in a call of `type`.
ElementType type_in_call(const OperatorInfo& op, const std::string& input, const Arguments& values, ElementType type) {
  const InputInfo& info = *find_by_name(op.inputs, input);
  if (!has_own_type(op, input, values)) return type;
  if (info.type_of_sums || info.type_of_parameters) return type == ElementType::f64 ? type : ElementType::f32;
  return info.type.value_or(type);
}

/// Of the inputs that have no type of their own; of all of them where each has one.
ElementType common_type(const OperatorInfo& op, const InputFiles& inputs, const Arguments& values) {
  if (inputs.empty()) throw Error(op.name + ": no input is a file, expected at least one tensor");
  const auto named = [&](const std::string& name, std::size_t i) {
    return item_name(name, find_by_name(op.inputs, name)->list, i) + " holds " +
           std::string(name_of(inputs.at(name)[i].type()));
  };
  const auto is_common = [&](const auto& entry) { return !has_own_type(op, entry.first, values); };
  const auto first = std::find_if(inputs.begin(), inputs.end(), is_common);
  if (first == inputs.end()) return inputs.begin()->second.front().type();
  const ElementType type = first->second.front().type();
  for (const auto& [name, files] : inputs) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (has_own_type(op, name, values) || files[i].type() == type) continue;
      throw Error(op.name + ": " + named(first->first, 0) + " and " + named(name, i) +
                  ", expected one element type (--dtype converts the inputs)");
    }
  }
  return type;
}

void check_list_outputs(const OperatorInfo& op, const Words& words,
                        const std::map<std::string, TensorSpec, std::less<>>& specs) {
  for (const auto& [name, files] : words.outputs) {
    const std::size_t expected = specs.at(name).list.size();
    if (!find_by_name(op.outputs, name)->list || files.size() == expected) continue;
    throw Error(op.name + ": " + name + " has " + std::to_string(files.size()) + " files, expected " +
                std::to_string(expected) + ", one for each tensor of the list");
  }
}

/// An input or output by name: the tensor, or all of a list.
void set(Arguments& arguments, const std::string& name, bool is_list, const std::vector<TensorRef>& tensors) {
  is_list ? arguments.set(name, std::span<const TensorRef>(tensors)) : arguments.set(name, tensors.front());
}

std::vector<TensorRef> shapes_of(const std::vector<NpyFile>& files, ElementType type) {
  std::vector<TensorRef> shapes;
  for (const NpyFile& file : files) shapes.push_back(TensorRef::without_data(type, file.extents()));
  return shapes;
}

/// False for an input of which, with the outputs that are wanted, only the extents count.
bool needs_elements(const OperatorInfo& op, const std::string& input, const Words& words) {
  const bool listed = std::find(op.no_need_buffer.begin(), op.no_need_buffer.end(), input) != op.no_need_buffer.end();
  // What the attribute says, the operator knows alone.
  return !listed || !op.no_need_buffer_attribute.empty() || words.outputs.contains(op.no_need_buffer_unless);
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

/// The levels of each ragged input: of a list, one level for each tensor.
std::map<std::string, std::vector<Levels>> read_all_levels(const OperatorInfo& op, const Words& words,
                                                           const InputFiles& inputs) {
  std::map<std::string, std::vector<Levels>> result;
  for (const auto& [name, files] : words.levels) {
    if (!find_by_name(op.inputs, name)->list) {
      result[name] = {read_levels(files)};
      continue;
    }
    const std::size_t expected = inputs.at(name).size();
    if (files.size() != expected) {
      throw Error(op.name + ": " + name + std::string(levels_suffix) + " has " + std::to_string(files.size()) +
                  " files, expected " + std::to_string(expected) + ", a level for each tensor of the list");
    }
    for (const std::string& file : files) result[name].push_back(read_levels({file}));
  }
  return result;
}

/// Adds levels to inputs that are set.
void set_levels(Arguments& arguments, const std::map<std::string, std::vector<Levels>>& all) {
  for (const auto& [name, levels] : all) {
    const std::vector<TensorRef>* list = arguments.list(name);
    if (list == nullptr) {
      arguments.set(name, levels.front());
      continue;
    }
    std::vector<RaggedRef> ragged;
    for (std::size_t i = 0; i < list->size(); ++i) ragged.push_back({(*list)[i], levels[i]});
    arguments.set(name, std::span<const RaggedRef>(ragged));
  }
}

Tensor tensor_of(const std::vector<std::int64_t>& offsets) {
  Tensor tensor(ElementType::i64, {static_cast<std::int64_t>(offsets.size())});
  std::copy(offsets.begin(), offsets.end(), tensor.data<std::int64_t>());
  return tensor;
}

/// The offsets that an output has files for: a file a level or, of a list, a file for the one level of each tensor.
std::vector<std::vector<std::int64_t>> written_offsets(const OperatorInfo& op, const std::string& name,
                                                       const TensorSpec& spec) {
  std::vector<std::vector<std::int64_t>> result;
  if (!find_by_name(op.outputs, name)->list) {
    for (int level = 0; level < spec.levels.depth(); ++level) result.push_back(spec.levels.offsets(level));
    return result;
  }
  for (const Levels& levels : spec.list_levels) result.push_back(levels.offsets());
  return result;
}

void check_output_levels(const OperatorInfo& op, const Words& words,
                         const std::map<std::string, TensorSpec, std::less<>>& specs) {
  for (const auto& [name, files] : words.output_levels) {
    const bool is_list = find_by_name(op.outputs, name)->list;
    const TensorSpec& spec = specs.at(name);
    const std::size_t expected = is_list ? spec.list.size() : static_cast<std::size_t>(spec.levels.depth());
    if (files.size() == expected) continue;
    throw Error(op.name + ": " + name + std::string(levels_suffix) + " has " + std::to_string(files.size()) +
                " files, expected " + std::to_string(expected) +
                (is_list ? ", a level for each tensor of the list" : ", one a level of " + name));
  }
}

}  // namespace

void run_request(const RunRequest& request) {
  const OperatorInfo& op = find_operator(request.op);
  const Words words = sort_words(op, request.arguments);
  check_complete(op, words);
  check_files_differ(op, words);

  // Whatever can be known to be wrong from the headers is found before a single element is read.
  InputFiles files = open_inputs(words);
  for (const auto& [name, own] : files) {
    // Numbers can be converted to any type that is computed with: f32 stands for all of them.
    for (const NpyFile& file : own) file.check_readable_as(type_in_call(op, name, words.values, ElementType::f32));
  }
  const ElementType type = request.type ? *request.type : common_type(op, files, words.values);
  Arguments shapes = words.values;
  std::map<std::string, ElementType> types;
  for (const auto& [name, own] : files) {
    types[name] = type_in_call(op, name, words.values, type);
    set(shapes, name, find_by_name(op.inputs, name)->list, shapes_of(own, types[name]));
  }
  const auto levels_of_inputs = read_all_levels(op, words, files);
  set_levels(shapes, levels_of_inputs);
  const auto specs = infer(op.name, shapes);
  check_list_outputs(op, words, specs);
  check_output_levels(op, words, specs);
  std::deque<OutputFile> outputs;
  for (const NamedFile& output : named_files(op.outputs, words.outputs, words.output_levels)) {
    outputs.emplace_back(output.file);
  }

  const Runtime runtime;
  Context ctx(choose_device(request.backend).backend);
  if (request.deterministic) ctx.deterministic(true);
  if (request.math) ctx.math(*request.math);
  if (request.products) ctx.products(*request.products);

  std::vector<Tensor> inputs;  // keeps the elements
  std::vector<Tensor> results;
  Arguments arguments = words.values;
  for (auto& [name, own] : files) {
    std::vector<TensorRef> tensors = shapes_of(own, types[name]);
    for (std::size_t i = 0; needs_elements(op, name, words) && i < own.size(); ++i) {
      const NpyTensor x = own[i].read(types[name]);
      const TensorRef stored = inputs.emplace_back(to_backend(ctx, x.storage));
      tensors[i] = TensorRef(stored.data(), stored.type(), own[i].extents(), x.ref.strides(), stored.space());
    }
    set(arguments, name, find_by_name(op.inputs, name)->list, tensors);
  }
  set_levels(arguments, levels_of_inputs);
  for (const auto& [name, own] : words.outputs) {
    const TensorSpec& spec = specs.at(name);
    const bool is_list = find_by_name(op.outputs, name)->list;
    std::vector<TensorRef> tensors(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].empty()) continue;
      const Extents& extents = is_list ? spec.list[i] : spec.extents;
      tensors[i] = results.emplace_back(zeros(ctx, spec.type, extents)).ref();  // an operator may leave some alone
    }
    set(arguments, name, is_list, tensors);
  }
  run(op.name, ctx, arguments);

  std::size_t next = 0;
  for (const Tensor& result : results) write_npy(outputs[next++], to_host(ctx, result));
  for (const auto& [name, own] : words.output_levels) {
    const auto offsets = written_offsets(op, name, specs.at(name));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!own[i].empty()) write_npy(outputs[next++], tensor_of(offsets[i]));
    }
  }
  OutputFile::commit(outputs);
}

}  // namespace portops::apps
