// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/safetensors.hpp"

#include "autograd/memory.hpp"
#include "core/exec/tensor.hpp"
#include "core/types/fail.hpp"
#include "core/types/file.hpp"
#include "nn/safetensors_header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace portops::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie in files as they do in memory");

std::uint64_t bytes_of(const TensorRef& tensor) {
  return static_cast<std::uint64_t>(tensor.size()) * size_of(tensor.type());
}

std::vector<std::int64_t> extents_of(const TensorRef& tensor) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < tensor.rank(); ++axis) extents.push_back(tensor.extent(axis));
  return extents;
}

/// Throws Error where a state cannot be a file's.
void check_state(const std::string& where, const State& state) {
  std::set<std::string_view> names;
  for (const NamedVariable& each : state) {
    const TensorRef& tensor = each.variable.tensor();
    if (each.name.empty() || each.name == "__metadata__" || !names.insert(each.name).second) {
      impl::fail(where, "'", each.name, "' cannot be the name of a tensor, or is that of two");
    }
    if (!tensor || !impl::is_contiguous(tensor)) {
      impl::fail(where, "tensor '", each.name, "' of the state is ", tensor ? "not contiguous" : "empty");
    }
  }
}

/// "2: a, b"; of many the first ones.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text = std::to_string(names.size()) + ":";
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    text.append(i == 0 ? " " : ", ").append(impl::shown(names[i]));
  }
  return names.size() > most ? text + ", …" : text;
}

/// The tensors of the file for those of the state, in its order. Throws Error unless each of either has its like.
std::vector<const impl::FileTensor*> matched(const std::string& where, const impl::FileHeader& header,
                                             const State& state, const LoadParams& params) {
  std::map<std::string_view, const impl::FileTensor*> rest;
  for (const impl::FileTensor& each : header.tensors) {
    const std::string_view name = each.name;
    if (name.starts_with(params.prefix)) rest[name.substr(params.prefix.size())] = &each;
  }
  std::vector<const impl::FileTensor*> found;
  std::vector<std::string> missing, others;
  for (const NamedVariable& each : state) {
    const auto its = rest.find(each.name);
    if (its == rest.end()) {
      missing.push_back(params.prefix + each.name);
      continue;
    }
    found.push_back(its->second);
    rest.erase(its);
  }
  for (const std::string& each : params.unused) rest.erase(each);
  for (const auto& [name, its] : rest) others.push_back(its->name);
  if (!missing.empty() || !others.empty()) {
    impl::fail(where, "it is not of this network:", missing.empty() ? "" : " it lacks ",
               missing.empty() ? "" : listed(missing), missing.empty() || others.empty() ? "" : ";",
               others.empty() ? "" : " nothing here has the names of ", others.empty() ? "" : listed(others));
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    const TensorRef& tensor = state[i].variable.tensor();
    if (found[i]->type == impl::file_name_of(tensor.type()) && found[i]->extents == extents_of(tensor)) continue;
    impl::fail(where, "tensor '", found[i]->name, "' is ", found[i]->type, " ", impl::shown(found[i]->extents),
               ", expected ", impl::file_name_of(tensor.type()), " ", impl::shown(extents_of(tensor)));
  }
  return found;
}

}  // namespace

void save(const Context& ctx, const std::filesystem::path& path, const State& state, const Metadata& metadata) {
  const std::string where = "portops::nn::save: " + path.string() + ": ";
  check_state(where, state);
  // Large elements first: so all of them are aligned.
  std::vector<TensorRef> tensors;
  impl::FileHeader header{.tensors = {}, .metadata = metadata};
  std::uint64_t end = 0;
  for (const std::size_t bytes : {8, 4, 2}) {
    for (const NamedVariable& each : state) {
      const TensorRef& tensor = each.variable.tensor();
      if (size_of(tensor.type()) != bytes) continue;
      const std::uint64_t begin = std::exchange(end, end + bytes_of(tensor));
      header.tensors.push_back(
          {each.name, std::string(impl::file_name_of(tensor.type())), extents_of(tensor), begin, end});
      tensors.push_back(tensor);
    }
  }
  const std::string text = impl::write_header(where, header);
  const std::uint64_t text_bytes = text.size();

  impl::NewFile file(where, path);
  file.write(&text_bytes, sizeof(text_bytes));
  file.write(text.data(), text.size());
  for (const TensorRef& tensor : tensors) {
    const Tensor host(tensor.type(), tensor.extents());
    copy(ctx, tensor, host);
    ctx.fence();
    file.write(host.ref().data(), bytes_of(tensor));
  }
  file.commit();
}

Metadata load(const Context& ctx, const std::filesystem::path& path, const State& state, const LoadParams& params) {
  const std::string where = "portops::nn::load: " + path.string() + ": ";
  check_state(where, state);
  const impl::OldFile file(where, path);
  std::uint64_t text_bytes = 0;
  if (file.bytes() < sizeof(text_bytes)) impl::fail(where, "it has ", file.bytes(), " bytes: it is no safetensors");
  file.read(&text_bytes, sizeof(text_bytes), 0);
  const std::uint64_t rest = file.bytes() - sizeof(text_bytes);
  if (text_bytes > rest || text_bytes > impl::most_header_bytes) {
    impl::fail(where, "its header has ", text_bytes, " bytes, expected at most ",
               std::min(rest, impl::most_header_bytes), ": it is no safetensors, or was cut off");
  }
  std::string text(text_bytes, '\0');
  file.read(text.data(), text.size(), sizeof(text_bytes));
  impl::FileHeader header = impl::read_header(where, text, rest - text_bytes);
  const std::vector<const impl::FileTensor*> found = matched(where, header, state, params);

  for (std::size_t i = 0; i < state.size(); ++i) {
    const TensorRef& tensor = state[i].variable.tensor();
    const Tensor host(tensor.type(), tensor.extents());
    file.read(host.ref().data(), bytes_of(tensor), sizeof(text_bytes) + text_bytes + found[i]->begin);
    copy(ctx, host, tensor);
    ctx.fence();
    state[i].variable.mark_changed("portops::nn::load");
  }
  return std::move(header.metadata);
}

}  // namespace portops::nn
