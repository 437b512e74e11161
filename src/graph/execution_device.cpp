// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/execution_device.hpp"

#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <cstring>

#if defined(PORTOPS_HAS_CUDA)
#include "graph/execution_device_cuda.hpp"
#endif

namespace portops::graph {
namespace {

/// A host's instances have done their work when a call returns: one does for all.
class HostDevice final : public ExecutionDevice {
 public:
  explicit HostDevice(const Context& ctx) : ctx_(ctx) {}

  const Context& ctx(std::int32_t) const override { return ctx_; }
  void wait_for_step(std::int32_t, std::int32_t) override {}
  void wait_for_beginning(std::int32_t) override {}
  void mark_step(std::int32_t, std::int32_t) override {}
  void mark_beginning() override {}
  void wait_for_all() override {}
  void poison(void* data, std::size_t bytes) override {
    ctx_.fence();
    std::memset(data, 0xff, bytes);
  }
  void capture(const std::function<void()>&) override {
    impl::fail("portops::graph::Execution::capture: the backend is ", name_of(ctx_.backend()), ", expected cuda");
  }
  void drop_captured() override {}
  bool is_captured() const override { return false; }
  void launch() override {}

 private:
  Context ctx_;
};

}  // namespace

std::unique_ptr<ExecutionDevice> make_execution_device(const Context& ctx, [[maybe_unused]] std::int32_t instances,
                                                       [[maybe_unused]] std::size_t steps) {
#if defined(PORTOPS_HAS_CUDA)
  if (ctx.backend() == Backend::cuda) return make_cuda_execution_device(ctx, instances, steps);
#endif
  return std::make_unique<HostDevice>(ctx);
}

}  // namespace portops::graph
