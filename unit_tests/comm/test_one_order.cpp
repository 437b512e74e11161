// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"
#include "comm/process_sum.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/ops/sum.hpp>

#include <cstdlib>
#include <memory>
#include <string>

namespace portops::test {
namespace {

using ag::Variable;

/// Enqueues everything at once, as NCCL does, and writes down what: exchanges and gatherings, with their elements. The
/// other process has what this one has.
class OneOrderEngine final : public impl::Engine {
 public:
  OneOrderEngine() : Engine(0, 2) {}

  std::string order;

  std::string_view name() const override { return "one order"; }
  Context begin(const Context& ctx) override { return ctx; }
  void end(const Context&) override {}
  impl::TransferPtr all_reduce(const Context&, const TensorRef& x) override { return write_down("sum", x); }
  impl::TransferPtr exchange(const Context& wire, const impl::Exchange& its) override {
    const std::int64_t own = comm::share_of(its.send.size(), rank, size).count;
    for (int other = 0; other < size; ++other) {
      copy(wire, impl::elements_of(its.send, 0, own), impl::elements_of(its.receive, other * own, own));
    }
    return write_down("exchange", its.send);
  }
  impl::TransferPtr all_gather(const Context&, const TensorRef& all, std::span<const std::int64_t>) override {
    return write_down("gather", all);
  }
  impl::TransferPtr broadcast(const Context&, const TensorRef& x, int) override { return write_down("broadcast", x); }
  void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) override {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = own[i % own.size()];
  }
  void broadcast_bytes(std::span<char>, int) override {}
  std::shared_ptr<impl::Engine> twin() override { return nullptr; }
  void end_job() override { std::abort(); }

 private:
  impl::TransferPtr write_down(const char* what, const TensorRef& x) {
    order += std::string(what) + " " + std::to_string(x.size()) + ", ";
    return nullptr;
  }
};

class OneOrderTest : public OnEveryBackend {};

/// Whichever gradients come, and when: a process for which buckets fill one by one would else begin transfers in
/// another order than one for which they fill together, and both would wait for ever.
TEST_P(OneOrderTest, FollowsFromTheBuckets) {
  const Context fixed = Context(ctx).deterministic(true);
  for (const bool uses_a : {true, false}) {
    for (const bool uses_b : {true, false}) {
      const Variable a = variable_of(ctx, {3}, {1, 2, 3}), b = variable_of(ctx, {5}, {1, 2, 3, 4, 5}),
                     c = variable_of(ctx, {1}, {1});
      const auto engine = std::make_shared<OneOrderEngine>();
      comm::GradientSum sum(fixed, {engine, engine}, {{"c", c}, {"a", a}, {"b", b}},
                            {.bucket_bytes = 1, .may_be_unused = true});
      Variable loss = ag::sum(fixed, c);
      if (uses_a) loss = ag::add(fixed, loss, ag::sum(fixed, a));
      if (uses_b) loss = ag::add(fixed, loss, ag::sum(fixed, b));
      sum.backward(fixed, loss);
      sum.finish(fixed);
      EXPECT_EQ(engine->order, "exchange 5, gather 5, exchange 3, gather 3, exchange 1, gather 1, ");
      EXPECT_EQ(elements_of(fixed, c.grad()), std::vector<double>{1});
      if (uses_b) {
        EXPECT_EQ(elements_of(fixed, b.grad()), std::vector<double>(5, 1));
      }
    }
  }
}

PORTOPS_ON_EVERY_BACKEND(OneOrderTest);

}  // namespace
}  // namespace portops::test
