// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/nccl.hpp"

#include "comm/nccl_engine.hpp"
#include "comm/rendezvous.hpp"
#include "core/types/fail.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace portops::comm {
namespace {

constexpr const char* name = "portops::comm::nccl_params";

const char* need(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): once, at the start
  if (text == nullptr) {
    impl::fail(name, ": ", variable, " is not set, expected PORTOPS_RANK, PORTOPS_SIZE and PORTOPS_RENDEZVOUS");
  }
  return text;
}

template <class T>
T number_of(const char* variable, const char* text) {
  T number{};
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc() || rest != end) impl::fail(name, ": ", variable, " is '", text, "', expected a number");
  return number;
}

}  // namespace

NcclParams nccl_params() {
  NcclParams params;
  params.rank = number_of<int>("PORTOPS_RANK", need("PORTOPS_RANK"));
  params.size = number_of<int>("PORTOPS_SIZE", need("PORTOPS_SIZE"));
  params.rendezvous = need("PORTOPS_RENDEZVOUS");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
  if (const char* text = std::getenv("PORTOPS_TIMEOUT")) params.timeout = number_of<double>("PORTOPS_TIMEOUT", text);
  return params;
}

Communicator nccl_communicator(const NcclParams& params) {
  if (params.size < 1 || params.rank < 0 || params.rank >= params.size) {
    impl::fail("portops::comm::nccl_communicator: rank is ", params.rank, " and size ", params.size,
               ", expected 0 <= rank < size");
  }
  const auto share = [params](std::span<char> bytes) {
    impl::share_by_file(params.rendezvous, params.rank, params.timeout, bytes);
  };
  const auto remove = [params] { impl::end_rendezvous(params.rendezvous, params.rank); };
  const std::shared_ptr<impl::Engine> engine =
      impl::make_nccl_engine(params.rank, params.size, {share, remove}, nullptr);
  return {engine, engine};
}

}  // namespace portops::comm
