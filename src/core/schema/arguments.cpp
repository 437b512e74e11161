// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/registry.hpp"

namespace portops {

Arguments& Arguments::set(std::string_view name, const TensorOrNumber& value) {
  std::string key(name);
  attributes_.erase(key);
  lists_.erase(key);
  if (value.is_tensor() && !value.tensor()) {
    tensors_.erase(key);
  } else {
    tensors_.insert_or_assign(std::move(key), value);
  }
  return *this;
}

Arguments& Arguments::set(std::string_view name, std::span<const TensorRef> list) {
  std::string key(name);
  attributes_.erase(key);
  tensors_.erase(key);
  list_levels_.erase(key);
  if (list.empty()) {
    lists_.erase(key);
  } else {
    lists_.insert_or_assign(std::move(key), std::vector<TensorRef>(list.begin(), list.end()));
  }
  return *this;
}

Arguments& Arguments::set(std::string_view name, const Levels& levels) {
  std::string key(name);
  if (levels) {
    levels_.insert_or_assign(std::move(key), levels);
  } else {
    levels_.erase(key);
  }
  return *this;
}

Arguments& Arguments::set(std::string_view name, const RaggedRef& value) {
  return set(name, TensorOrNumber(value.values)).set(name, value.levels);
}

Arguments& Arguments::set(std::string_view name, std::span<const RaggedRef> list) {
  std::vector<TensorRef> values;
  std::vector<Levels> levels;
  for (const RaggedRef& item : list) {
    values.push_back(item.values);
    levels.push_back(item.levels);
  }
  set(name, std::span<const TensorRef>(values));
  if (!list.empty()) list_levels_.insert_or_assign(std::string(name), std::move(levels));
  return *this;
}

Arguments& Arguments::set(std::string_view name, Attribute value) {
  std::string key(name);
  tensors_.erase(key);
  lists_.erase(key);
  attributes_.insert_or_assign(std::move(key), std::move(value));
  return *this;
}

const TensorOrNumber* Arguments::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() ? &found->second : nullptr;
}

const std::vector<TensorRef>* Arguments::list(std::string_view name) const {
  const auto found = lists_.find(name);
  return found != lists_.end() ? &found->second : nullptr;
}

Levels Arguments::levels(std::string_view name) const {
  const auto found = levels_.find(name);
  return found != levels_.end() ? found->second : Levels();
}

const std::vector<Levels>* Arguments::list_levels(std::string_view name) const {
  const auto found = list_levels_.find(name);
  return found != list_levels_.end() ? &found->second : nullptr;
}

const Attribute* Arguments::attribute(std::string_view name) const {
  const auto found = attributes_.find(name);
  return found != attributes_.end() ? &found->second : nullptr;
}

}  // namespace portops
