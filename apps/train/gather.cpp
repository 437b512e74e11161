// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather.hpp"

#include "common/transfer.hpp"

#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <cstddef>

namespace portops::apps {

namespace {

/// Of every process as many as of this one.
std::vector<std::int64_t> gathered_alike(const Context& ctx, const comm::Communicator& processes,
                                         const std::vector<std::int64_t>& own) {
  const auto count = static_cast<std::int64_t>(own.size());
  const Tensor all(ElementType::i64, {processes.size() * count}, default_memory_space(ctx.backend()));
  comm::all_gather(ctx, processes, indices_on_backend(ctx, own), all);
  const Tensor host = to_host(ctx, all);
  const auto* const first = host.data<std::int64_t>();
  return {first, first + host.ref().size()};
}

}  // namespace

std::vector<std::vector<std::int64_t>> gathered(const Context& ctx, const comm::Communicator& processes,
                                                const std::vector<std::int64_t>& own) {
  const std::vector<std::int64_t> counts = gathered_alike(ctx, processes, {static_cast<std::int64_t>(own.size())});
  const auto most = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  std::vector<std::int64_t> filled = own;
  filled.resize(most);
  const std::vector<std::int64_t> found = gathered_alike(ctx, processes, filled);
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto first = found.begin() + static_cast<std::ptrdiff_t>(rank * most);
    all.emplace_back(first, first + static_cast<std::ptrdiff_t>(counts[rank]));
  }
  return all;
}

}  // namespace portops::apps
