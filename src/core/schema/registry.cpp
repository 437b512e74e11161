// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/registry.hpp"

#include "core/schema/argument_texts.hpp"
#include "core/schema/registry_table.hpp"
#include "core/types/fail.hpp"

#include <algorithm>
#include <numeric>

namespace portops {
namespace impl {
namespace {

constexpr std::size_t suggestions = 3;

/// The insertions, removals and replacements of characters that make one text the other (Levenshtein's distance).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::size_t index_of(std::string_view name) {
  const auto& infos = operator_table().infos;
  for (std::size_t index = 0; index < infos.size(); ++index) {
    if (infos[index].name == name) return index;
  }
  const auto& left_out = operator_table().left_out;
  if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
    fail("portops::find_operator: no operator is named '", name,
         "' in this build, which leaves it out (PORTOPS_OPERATORS)");
  }
  std::vector<std::string> names;
  for (const OperatorInfo& info : infos) names.push_back(info.name);
  std::stable_sort(names.begin(), names.end(), [name](const std::string& a, const std::string& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  names.resize(std::min(names.size(), suggestions));
  fail("portops::find_operator: no operator is named '", name, "'; the closest are ", enumerated(names));
}

/// What the schema says of the outputs of a call, in their order. Throws Error where extents or levels do not fit.
struct InferredOutputs {
  std::vector<OutputExtents> extents;
  std::vector<OutputLevels> levels;

  explicit InferredOutputs(const NamedCall& call)
      : extents(adapter_of(call).extents(call)), levels(adapter_of(call).levels(call)) {
    const std::vector<OutputInfo>& outputs = call.info().outputs;
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      call.check_levels(outputs[output].name, extents[output].extents, levels[output].levels);
    }
  }
};

}  // namespace

const OperatorAdapter& adapter_of(const NamedCall& call) {
  const OperatorTable& table = operator_table();
  return table.adapters[static_cast<std::size_t>(&call.info() - table.infos.data())];
}

std::vector<TensorSpec> infer(const NamedCall& call) {
  auto [extents, levels] = InferredOutputs(call);
  const std::vector<OutputInfo>& outputs = call.info().outputs;
  std::vector<TensorSpec> specs;
  specs.reserve(outputs.size());
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    specs.push_back({call.type_of(outputs[output]), extents[output].extents, std::move(extents[output].list),
                     std::move(levels[output].levels), std::move(levels[output].list)});
  }
  return specs;
}

void run(const Context& ctx, const NamedCall& call) {
  call.check_outputs();
  adapter_of(call).run(ctx, call);
}

}  // namespace impl

std::span<const OperatorInfo> operators() { return impl::operator_table().infos; }

const OperatorInfo& find_operator(std::string_view name) { return impl::operator_table().infos[impl::index_of(name)]; }

std::map<std::string, TensorSpec, std::less<>> infer(std::string_view name, const Arguments& arguments) {
  const OperatorInfo& info = find_operator(name);
  std::vector<TensorSpec> inferred = impl::infer(impl::NamedCall(info, arguments));
  std::map<std::string, TensorSpec, std::less<>> specs;
  for (std::size_t output = 0; output < inferred.size(); ++output) {
    specs.emplace(info.outputs[output].name, std::move(inferred[output]));
  }
  return specs;
}

void run(std::string_view name, const Context& ctx, const Arguments& arguments) {
  const impl::NamedCall call(find_operator(name), arguments);
  call.check_outputs();
  const impl::InferredOutputs inferred(call);  // for its errors: what infer refuses is no call
  impl::adapter_of(call).run(ctx, call);
}

}  // namespace portops
