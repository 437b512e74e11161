// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/communicator.hpp"

#include "comm/agree.hpp"
#include "comm/process_sum.hpp"
#include "core/types/fail.hpp"
#include "portops/core/tensor.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace portops::comm {
namespace {

/// That a tensor can be sent, or written.
void check_tensor(const std::string& op, const char* name, const TensorRef& tensor, bool is_output) {
  if (!tensor) impl::fail(op, ": ", name, " is empty, expected a tensor");
  if (tensor.size() > 0 && !tensor.has_data()) impl::fail(op, ": ", name, " has no data, but its elements are needed");
  if (is_output && tensor.read_only()) impl::fail(op, ": ", name, " is an output, but its elements are const");
  const Extents expected = tensor.extents().row_major_strides();
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) <= 1 || tensor.stride(axis) == expected[axis]) continue;
    impl::fail(op, ": ", name, " of extents ", tensor.extents().to_string(), " has strides ",
               tensor.strides().to_string(), ", expected a contiguous tensor");
  }
}

void check_place(const std::string& op, const Context& ctx, const char* name, const TensorRef& tensor) {
  const bool is_reached =
      ctx.backend() == Backend::cuda ? tensor.space() != MemorySpace::host : tensor.space() != MemorySpace::cuda;
  if (!is_reached) {
    impl::fail(op, ": ", name, " lies in ", name_of(tensor.space()), " memory, which the context's backend ",
               name_of(ctx.backend()), " cannot reach");
  }
}

void check_agreement(const char* op, const Communicator& communicator, const TensorRef& x, int root) {
  if (!communicator.checks_calls()) return;
  std::string text = "x " + std::string(name_of(x.type())) + " " + x.extents().to_string();
  if (root >= 0) text += " and root " + std::to_string(root);
  impl::agree(communicator.engine(), op, std::string(op) + " of " + text);
}

void wait_for(impl::Transfer* transfer) {
  if (transfer != nullptr) transfer->wait();
}

}  // namespace

Communicator::Communicator() : host_(impl::make_lone_engine()), cuda_(host_) {}

int Communicator::rank() const { return host_->rank; }
int Communicator::size() const { return host_->size; }
std::string_view Communicator::engine_name(const Context& ctx) const { return engine(ctx).name(); }

Communicator Communicator::twin() const {
  const std::shared_ptr<impl::Engine> host = host_->twin();
  return {host, cuda_ == host_ ? host : cuda_->twin()};
}

void Communicator::barrier() const {
  const std::int64_t own[1] = {0};
  std::vector<std::int64_t> all(static_cast<std::size_t>(size()));
  host_->gather_numbers(own, all);
}

void Communicator::end_job(std::string_view message) const {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  // One write, so that the lines of several processes do not mix.
  const std::string line = "portops: process " + std::to_string(rank()) + " of " + std::to_string(size()) + " (" +
                           host.data() + "): " + std::string(message) + "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  host_->end_job();
  std::_Exit(EXIT_FAILURE);
}

void all_reduce(const Context& ctx, const Communicator& communicator, const TensorRef& x) {
  constexpr const char* op = "portops::comm::all_reduce";
  check_tensor(op, "x", x, true);
  check_place(op, ctx, "x", x);
  check_agreement(op, communicator, x, -1);
  impl::Engine& engine = communicator.engine(ctx);
  if (engine.size == 1 || x.size() == 0) return;
  const bool has_tree = ctx.deterministic() && x.type() != ElementType::i64;  // sums of integers have one order
  const TensorRef row(x.data(), x.type(), {1, x.size()}, {x.size(), 1}, x.space());
  std::vector<impl::ProcessSum> sums =
      impl::sums_of(engine, ctx, row, {.items = engine.size, .factor = 1, .has_tree = has_tree});
  for (impl::ProcessSum& each : sums) each.wait();
  engine.end(ctx);
}

void all_gather(const Context& ctx, const Communicator& communicator, const TensorRef& x, const TensorRef& out) {
  constexpr const char* op = "portops::comm::all_gather";
  check_tensor(op, "x", x, false);
  check_tensor(op, "out", out, true);
  check_place(op, ctx, "x", x);
  check_place(op, ctx, "out", out);
  impl::Engine& engine = communicator.engine(ctx);
  Extents expected = x.rank() > 0 ? x.extents() : Extents{1};
  const std::int64_t rows = expected[0];
  expected[0] *= engine.size;
  if (out.type() != x.type() || out.extents() != expected) {
    impl::fail(op, ": out is ", name_of(out.type()), " ", out.extents().to_string(), ", expected ", name_of(x.type()),
               " ", expected.to_string(), " (x of ", engine.size, " processes)");
  }
  check_agreement(op, communicator, x, -1);
  if (x.size() == 0) return;
  const Context wire = engine.begin(ctx);
  copy(wire, impl::elements_of(x, 0, x.size()), impl::elements_of(out, engine.rank * x.size(), x.size()));
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(engine.size), rows);
  wait_for(engine.all_gather(wire, out, counts).get());
  engine.end(ctx);
}

void broadcast(const Context& ctx, const Communicator& communicator, const TensorRef& x, int root) {
  constexpr const char* op = "portops::comm::broadcast";
  check_tensor(op, "x", x, true);
  check_place(op, ctx, "x", x);
  if (root < 0 || root >= communicator.size()) {
    impl::fail(op, ": root is ", root, ", expected one of the ", communicator.size(), " processes");
  }
  check_agreement(op, communicator, x, root);
  impl::Engine& engine = communicator.engine(ctx);
  if (engine.size == 1 || x.size() == 0) return;
  const Context wire = engine.begin(ctx);
  wait_for(engine.broadcast(wire, impl::elements_of(x, 0, x.size()), root).get());
  engine.end(ctx);
}

}  // namespace portops::comm
