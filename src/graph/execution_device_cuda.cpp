// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/execution_device_cuda.hpp"

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace portops::graph {
namespace {

using impl::check_cuda;

constexpr const char* label = "portops::graph::Execution";

class Event {
 public:
  Event() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), label, "cudaEventCreateWithFlags"); }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), label, "cudaStreamCreateWithFlags");
  }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A captured run.
class CapturedRun {
 public:
  CapturedRun() = default;
  ~CapturedRun() { drop(); }
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;

  bool is_there() const { return run_ != nullptr; }
  void drop() {
    if (run_ != nullptr) cudaGraphExecDestroy(run_);
    run_ = nullptr;
  }
  void make(cudaStream_t stream, const std::function<void()>& enqueue) {
    drop();
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), label, "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      cudaGetLastError();  // what went wrong is being thrown
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), label, "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&run_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, label, "cudaGraphInstantiate");
    check_cuda(cudaGraphUpload(run_, stream), label, "cudaGraphUpload");
  }
  void launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(run_, stream), label, "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t run_ = nullptr;
};

class CudaDevice final : public ExecutionDevice {
 public:
  CudaDevice(const Context& ctx, std::int32_t instances, std::size_t steps) {
    const impl::CurrentDevice current(ctx);
    const impl::BesideCaptures beside;
    contexts_.push_back(ctx);
    for (std::int32_t i = 1; i < instances; ++i) {
      contexts_.push_back(on_own_stream(ctx));
    }
    if (instances == 1) return;
    beginning_.emplace_back();
    steps_.resize(steps);
  }
  ~CudaDevice() override {
    // What lies in memory of the execution must be done before that goes.
    for (std::size_t i = 0; i < contexts_.size(); ++i) cudaStreamSynchronize(stream(i));
    contexts_.clear();
    elsewhere_.reset();
  }

  const Context& ctx(std::int32_t instance) const override { return contexts_[static_cast<std::size_t>(instance)]; }
  void wait_for_step(std::int32_t instance, std::int32_t step) override {
    wait(instance, steps_[static_cast<std::size_t>(step)]);
  }
  void wait_for_beginning(std::int32_t instance) override { wait(instance, beginning_.front()); }
  void mark_step(std::int32_t instance, std::int32_t step) override {
    mark(instance, steps_[static_cast<std::size_t>(step)]);
  }
  void mark_beginning() override { mark(0, beginning_.front()); }
  void wait_for_all() override {
    const impl::CurrentDevice current(contexts_.front());
    for (std::size_t i = 1; i < contexts_.size(); ++i) {
      const cudaEvent_t event = beginning_.front().get();
      if (cudaEventRecord(event, stream(i)) == cudaSuccess) cudaStreamWaitEvent(stream(0), event, 0);
    }
    cudaGetLastError();
  }
  void poison(void* data, std::size_t bytes) override {
    const impl::CurrentDevice current(contexts_.front());
    check_cuda(cudaMemsetAsync(data, 0xff, bytes, stream(0)), label, "cudaMemsetAsync");
  }
  void capture(const std::function<void()>& enqueue) override {
    const impl::CurrentDevice current(contexts_.front());
    if (stream(0) != nullptr) return captured_.make(stream(0), enqueue);
    // The stream of Kokkos' own instance cannot be captured, but what was captured elsewhere can be launched there.
    if (!elsewhere_) {
      const impl::BesideCaptures beside;
      elsewhere_.emplace(on_own_stream(contexts_.front()));
    }
    struct Exchange {
      Context &one, &other;
      Exchange(Context& a, Context& b) : one(a), other(b) { std::swap(one, other); }
      ~Exchange() { std::swap(one, other); }
    };
    const Exchange exchange(contexts_.front(), *elsewhere_);
    captured_.make(stream(0), enqueue);
  }
  void drop_captured() override { captured_.drop(); }
  bool is_captured() const override { return captured_.is_there(); }
  void launch() override {
    const impl::CurrentDevice current(contexts_.front());
    captured_.launch(stream(0));
  }

 private:
  cudaStream_t stream(std::size_t instance) const {
    return static_cast<cudaStream_t>(impl::cuda_stream(contexts_[instance]));
  }
  void wait(std::int32_t instance, const Event& event) {
    const impl::CurrentDevice current(contexts_.front());
    check_cuda(cudaStreamWaitEvent(stream(static_cast<std::size_t>(instance)), event.get(), 0), label,
               "cudaStreamWaitEvent");
  }
  void mark(std::int32_t instance, const Event& event) {
    const impl::CurrentDevice current(contexts_.front());
    check_cuda(cudaEventRecord(event.get(), stream(static_cast<std::size_t>(instance))), label, "cudaEventRecord");
  }

  /// With these options, on a stream of its own.
  Context on_own_stream(const Context& ctx) {
    Context made(Backend::cuda, streams_.emplace_back().get());
    return made.deterministic(ctx.deterministic()).math(ctx.math()).products(ctx.products());
  }

  std::vector<Stream> streams_;
  std::vector<Context> contexts_;     ///< the first one is the caller's
  std::optional<Context> elsewhere_;  ///< where runs are captured, if not on the first one
  std::vector<Event> beginning_;
  std::vector<Event> steps_;
  CapturedRun captured_;
};

}  // namespace

std::unique_ptr<ExecutionDevice> make_cuda_execution_device(const Context& ctx, std::int32_t instances,
                                                            std::size_t steps) {
  return std::make_unique<CudaDevice>(ctx, instances, steps);
}

}  // namespace portops::graph
