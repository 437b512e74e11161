// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/device_copies.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include "core/cuda_calls.hpp"
#include "core/cuda_device.hpp"
#include "core/cuda_pool.hpp"
#include "core/table_streams.hpp"

#include <list>
#include <mutex>
#endif

namespace portops::impl {

#if defined(KOKKOS_ENABLE_CUDA)

namespace {

constexpr const char* label = "portops::Levels";

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), label, "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

class Event {
 public:
  Event() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), label, "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  operator cudaEvent_t() const { return event_; }  // NOLINT: for calls of CUDA

 private:
  cudaEvent_t event_ = nullptr;
};

/// The calls on one stream.
struct Use {
  unsigned long long stream;
  int calls = 0;  ///< that have not been enqueued yet
  Event last;     ///< the end of the last one that has
};

/// A stream's handle may be another stream's later, and that of a thread's default stream is the same in every thread.
unsigned long long id_of(cudaStream_t stream) {
  unsigned long long id = 0;
  check_cuda(cudaStreamGetId(stream, &id), label, "cudaStreamGetId");
  return id;
}

/// A device's copy. The calls that read it are known by events, which outlive the calls' streams.
class Copy {
 public:
  /// On the current device.
  Copy(int device, const void* from, std::size_t bytes)
      : device_(device), memory_(take_from_pool(device, TableStreams::of(device).copies(), bytes, label)) {
    TableStreams& streams = TableStreams::of(device);
    streams.copy(memory_.get(), from, bytes);
    check_cuda(cudaEventRecord(made_, streams.copies()), label, "cudaEventRecord");
  }

  ~Copy() {
    const BesideCaptures beside;
    if (!is_kept_ && free_after_uses()) return;
    static_cast<void>(memory_.release());
  }

  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  int device() const { return device_; }

  /// For a call on this stream, which releases what it is given.
  DeviceCopies::Held acquire(cudaStream_t stream) {
    if (is_capturing(stream)) {
      wait_until_made();
      return {memory_.get(), nullptr};
    }
    const BesideCaptures beside;
    Use& use = use_of(id_of(stream));
    is_made_ = is_made_ || cudaEventQuery(made_) == cudaSuccess;
    if (!is_made_) check_cuda(cudaStreamWaitEvent(stream, made_, 0), label, "cudaStreamWaitEvent");
    ++use.calls;
    return {memory_.get(), &use};
  }

  void release(cudaStream_t stream, Use& use) {
    --use.calls;
    // Where nobody can tell when the call is done, nothing may be freed.
    if (cudaEventRecord(use.last, stream) != cudaSuccess) is_kept_ = true;
  }

 private:
  Use& use_of(unsigned long long stream) {
    for (Use& use : uses_) {
      if (use.stream == stream) return use;
    }
    uses_.remove_if([](const Use& use) { return use.calls == 0 && cudaEventQuery(use.last) == cudaSuccess; });
    return uses_.emplace_back(stream);
  }

  /// A graph cannot wait for what was enqueued outside of it.
  void wait_until_made() {
    if (is_made_) return;
    const BesideCaptures beside;
    check_cuda(cudaEventSynchronize(made_), label, "cudaEventSynchronize");
    is_made_ = true;
  }

  /// False where CUDA fails: the program may be ending, and CUDA gone.
  bool free_after_uses() {
    try {
      const CurrentDevice current(device_);
      const cudaStream_t frees = TableStreams::of(device_).frees();
      check_cuda(cudaStreamWaitEvent(frees, made_, 0), label, "cudaStreamWaitEvent");
      for (const Use& use : uses_) check_cuda(cudaStreamWaitEvent(frees, use.last, 0), label, "cudaStreamWaitEvent");
      memory_.get_deleter().stream = frees;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  int device_;
  Event made_;
  PoolMemory memory_;
  bool is_made_ = false;
  bool is_kept_ = false;
  std::list<Use> uses_;
};

}  // namespace

class DeviceCopies::OnDevice {
 public:
  OnDevice(const void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  Held acquire(const Kokkos::Cuda& space) {
    const std::lock_guard lock(mutex_);
    return copy_on(space.cuda_device()).acquire(space.cuda_stream());
  }

  void release(const Kokkos::Cuda& space, Use& use) {
    const std::lock_guard lock(mutex_);
    copy_on(space.cuda_device()).release(space.cuda_stream(), use);
  }

 private:
  Copy& copy_on(int device) {
    for (Copy& copy : copies_) {
      if (copy.device() == device) return copy;
    }
    const BesideCaptures beside;
    const CurrentDevice current(device);
    return copies_.emplace_back(device, data_, bytes_);
  }

  const void* data_;
  std::size_t bytes_;
  std::mutex mutex_;
  std::list<Copy> copies_;
};

DeviceCopies::DeviceCopies(const void* data, std::size_t bytes)
    : data_(data), on_device_(bytes == 0 ? nullptr : std::make_unique<OnDevice>(data, bytes)) {}

DeviceCopies::Held DeviceCopies::acquire(const Context& ctx) const {
  if (ctx.backend() != Backend::cuda || on_device_ == nullptr) return {data_, nullptr};
  const Held held = on_device_->acquire(instance<Backend::cuda>(ctx));
  if (held.use == nullptr) is_in_graph_ = true;
  return held;
}

void DeviceCopies::release(const Context& ctx, const Held& held) const {
  if (held.use != nullptr) on_device_->release(instance<Backend::cuda>(ctx), *static_cast<Use*>(held.use));
}

#else

class DeviceCopies::OnDevice {};

DeviceCopies::DeviceCopies(const void* data, std::size_t) : data_(data) {}

DeviceCopies::Held DeviceCopies::acquire(const Context&) const { return {data_, nullptr}; }

void DeviceCopies::release(const Context&, const Held&) const {}

#endif

DeviceCopies::~DeviceCopies() = default;

}  // namespace portops::impl
