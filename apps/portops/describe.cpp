// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "describe.hpp"

#include "common/values.hpp"

#include <portops/core/config.hpp>
#include <portops/core/context.hpp>
#include <portops/core/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace portops::apps {

namespace {

using Row = std::vector<std::string>;

/// Columns two spaces apart, each as wide as its widest (ASCII) cell; the last one is not padded.
void print_table(const std::vector<Row>& rows, std::string_view indent, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    out << indent;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) out << row[i] << std::string(widths[i] - row[i].size() + 2, ' ');
    out << row.back() << '\n';
  }
}

/// Every line of `text` indented, except empty ones.
void print_indented(std::string_view text, std::ostream& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) out << "  " << text.substr(0, end);
    out << '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void print_section(std::string_view title, const std::vector<Row>& rows, std::ostream& out) {
  if (rows.empty()) return;
  out << '\n' << title << '\n';
  print_table(rows, "  ", out);
}

/// " of i64", where a tensor does not have the call's element type.
template <class Info>
std::string of_own_type(const Info& info) {
  if (info.type_of_sums) return " of f32 (f64 in a call of f64)";
  if (info.type_of_parameters) return " of the call's type or f32 (f64 in a call of f64)";
  if (!info.type) return "";
  const std::string own = " of " + std::string(name_of(*info.type));
  if constexpr (requires { info.type_unless; }) {
    if (!info.type_unless.empty()) return own + " (with " + info.type_unless + " that of the call)";
  }
  return own;
}

Row row_of(const InputInfo& input) {
  std::string kind = input.list ? "list of tensors" : "tensor";
  if (input.ragged == Ragged::always) kind = input.list ? "list of ragged tensors" : "ragged tensor";
  if (input.ragged == Ragged::levels) kind = "levels";
  kind += of_own_type(input);
  if (input.or_number) kind += " or number";
  if (input.default_number) {
    kind += ", default " + to_string(*input.default_number);
  } else if (input.optional) {
    kind += ", optional";
  }
  if (input.ragged == Ragged::optional || input.ragged == Ragged::values) kind += ", may be ragged";
  return {input.name, kind, input.description};
}

Row row_of(const AttributeInfo& attribute) {
  std::string kind = std::string(name_of(attribute.type)) + or_names(attribute);
  if (attribute.default_value) kind += ", default " + to_string(*attribute.default_value);
  return {attribute.name, kind, attribute.description};
}

Row row_of(const OutputInfo& output) {
  const std::string own = of_own_type(output);
  std::string kind = output.list ? "list of tensors" + own : own.empty() ? "" : "tensor" + own;
  if (output.optional) append_item(kind, output.list ? "each optional" : "optional");
  return {output.name, kind, output.description};
}

template <class Items>
std::vector<Row> rows_of(const Items& items) {
  std::vector<Row> rows;
  for (const auto& item : items) rows.push_back(row_of(item));
  return rows;
}

std::vector<Row> rules_of(const OperatorInfo& op) {
  std::vector<Row> rules;
  for (const InputInfo& input : op.inputs) {
    if (!input.shape_rule.empty()) rules.push_back({"extents", input.name + " = " + input.shape_rule});
  }
  for (const OutputInfo& output : op.outputs) rules.push_back({"extents", output.name + " = " + output.shape_rule});
  for (const OutputInfo& output : op.outputs) {
    if (!output.levels_rule.empty()) rules.push_back({"levels", output.name + ": " + output.levels_rule});
  }
  for (const OutputInfo& output : op.outputs) {
    if (!output.needs_tensor.empty()) rules.push_back({"needs", output.name + ": a tensor for " + output.needs_tensor});
  }
  for (const auto& [input, output] : op.inplace) {
    rules.push_back({"in place", output + " may be the same tensor as " + input});
  }
  if (!op.no_need_buffer.empty()) {
    std::string names;
    for (const std::string& name : op.no_need_buffer) append_item(names, name);
    if (!op.no_need_buffer_unless.empty()) names += " (unless " + op.no_need_buffer_unless + " is wanted)";
    if (!op.no_need_buffer_attribute.empty()) names += " (for some values of " + op.no_need_buffer_attribute + ")";
    rules.push_back({"extents only", names});
  }
  if (!op.backward.empty()) rules.push_back({"gradient", op.backward});
  return rules;
}

std::string usage_of(const OperatorInfo& op) {
  std::string usage = "portops run " + op.name;
  const auto add = [&usage](const std::string& argument, bool optional) {
    usage += optional ? " [" + argument + "]" : " " + argument;
  };
  for (const InputInfo& input : op.inputs) {
    const std::string levels = input.name + ".levels=FILE.npy,…";
    if (input.ragged == Ragged::levels) {
      add(levels, false);
      continue;
    }
    const std::string more = input.list ? ",FILE.npy…" : input.or_number ? "|NUMBER" : "";
    add(input.name + "=FILE.npy" + more, input.optional || input.default_number);
    if (input.ragged != Ragged::no) add(levels, input.ragged != Ragged::always);
  }
  for (const OutputInfo& output : op.outputs) {
    add(output.name + "=FILE.npy" + (output.list ? ",FILE.npy…" : ""), output.optional);
  }
  for (const AttributeInfo& attribute : op.attributes) {
    add(attribute.name + "=VALUE", attribute.default_value.has_value());
  }
  return usage;
}

}  // namespace

void describe_operators(std::ostream& out) {
  std::vector<Row> rows;
  for (const OperatorInfo& op : operators()) rows.push_back({op.name, op.brief});
  print_table(rows, "", out);
}

void describe(const OperatorInfo& op, std::ostream& out) {
  out << op.name << ": " << op.brief << "\n\n";
  print_indented(op.formula, out);
  print_section("Inputs", rows_of(op.inputs), out);
  print_section("Attributes", rows_of(op.attributes), out);
  print_section("Outputs", rows_of(op.outputs), out);
  print_section("Rules", rules_of(op), out);
  if (!op.details.empty()) {
    out << "\nDetails\n";
    print_indented(op.details, out);
  }
  out << "\nUsage\n  " << usage_of(op) << '\n';
}

void describe_build(std::ostream& out) {
  std::string backends;
  for (const Backend backend : enabled_backends()) append_item(backends, name_of(backend));
  std::string types;
  for (const ElementType type : enabled_element_types()) append_item(types, name_of(type));
  std::string products(name_of(Products::own));
#if defined(PORTOPS_HAS_KOKKOS_KERNELS)
  append_item(products, name_of(Products::kokkos_kernels));
#endif
  print_table({{"version", PORTOPS_VERSION},
               {"backends", backends},
               {"element types", types},
               {"products", products},
               {"operators", std::to_string(operators().size())}},
              "", out);
}

void describe_devices(std::ostream& out) {
  std::vector<Row> rows{{"backend", "device", "concurrency", "memory"}};
  for (const Device& device : devices()) {
    char memory[32];
    std::snprintf(memory, sizeof memory, "%.1f GiB", static_cast<double>(device.memory_bytes) / (1 << 30));
    rows.push_back({std::string(name_of(device.backend)), device.name, std::to_string(device.concurrency), memory});
  }
  print_table(rows, "", out);
  const ContextDefaults& defaults = context_defaults();
  print_section("Defaults of calls",
                {{"deterministic", defaults.deterministic ? "on" : "off", "PORTOPS_DETERMINISTIC"},
                 {"math", defaults.math == Math::tf32 ? "tf32" : "ieee", "PORTOPS_MATH"},
                 {"products", std::string(name_of(defaults.products)), "PORTOPS_PRODUCTS"}},
                out);
}

}  // namespace portops::apps
