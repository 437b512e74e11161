// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/device_copies.hpp"

#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/cuda/cuda_pool.hpp"
#include "core/exec/cuda/table_stream.hpp"

#include <algorithm>
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
      : device_(device), memory_(take_from_pool(device, TableStream::of(device).stream(), bytes, label)) {
    TableStream& stream = TableStream::of(device);
    stream.copy(memory_.get(), from, bytes);
    check_cuda(cudaEventRecord(made_, stream.stream()), label, "cudaEventRecord");
  }

  int device() const { return device_; }

  /// For a call on this stream of the current device, which releases what it is given.
  DeviceCopies::Held acquire(cudaStream_t stream) {
    if (is_capturing(stream)) {
      wait_until_made();
      return {memory_.get(), nullptr};
    }
    Use& use = use_of(id_of(stream));
    is_made_ = is_made_ || is_done(made_);
    if (!is_made_) check_cuda(cudaStreamWaitEvent(stream, made_, 0), label, "cudaStreamWaitEvent");
    ++use.calls;
    return {memory_.get(), &use};
  }

  void release(cudaStream_t stream, Use& use) {
    --use.calls;
    if (cudaEventRecord(use.last, stream) == cudaSuccess) return;
    cudaGetLastError();
    is_kept_ = true;  // where nobody can tell when the call is done, nothing may be freed
  }

  /// Whether nothing on the device needs it any more.
  bool is_idle() const {
    const auto is_over = [](const Use& use) { return is_done(use.last); };
    return !is_kept_ && is_done(made_) && std::all_of(uses_.begin(), uses_.end(), is_over);
  }

 private:
  static bool is_done(const Event& event) { return cudaEventQuery(event) == cudaSuccess; }

  Use& use_of(unsigned long long stream) {
    for (Use& use : uses_) {
      if (use.stream == stream) return use;
    }
    uses_.remove_if([](const Use& use) { return use.calls == 0 && is_done(use.last); });
    return uses_.emplace_back(stream);
  }

  /// A graph cannot wait for what was enqueued outside of it.
  void wait_until_made() {
    if (!is_made_) check_cuda(cudaEventSynchronize(made_), label, "cudaEventSynchronize");
    is_made_ = true;
  }

  int device_;
  Event made_;
  PoolMemory memory_;
  bool is_made_ = false;
  bool is_kept_ = false;
  std::list<Use> uses_;
};

/// Copies whose tables have ended. They go back to the pool, which keeps what it has, when somebody makes or ends
/// tables and the calls are done: no stream waits for these, which may take as long as they like.
class EndedCopies {
 public:
  void take(std::list<Copy>& copies) {
    const std::lock_guard lock(mutex_);
    copies_.splice(copies_.end(), copies);
    remove_idle();
  }
  void free_idle() {
    const std::lock_guard lock(mutex_);
    remove_idle();
  }

 private:
  /// Where CUDA is gone, because the program is ending, none is idle.
  void remove_idle() {
    copies_.remove_if([](const Copy& copy) { return copy.is_idle(); });
  }

  std::mutex mutex_;
  std::list<Copy> copies_;
};

/// Never destroyed: static levels may end after everything else.
EndedCopies& ended_copies() {
  static EndedCopies& ended = *new EndedCopies;
  return ended;
}

}  // namespace

class DeviceCopies::OnDevice {
 public:
  OnDevice(const void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  ~OnDevice() {
    const BesideCaptures beside;  // this is no call, and has no Region
    ended_copies().take(copies_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Held acquire(const Kokkos::Cuda& space) {
    const std::lock_guard lock(mutex_);
    const CurrentDevice current(space.cuda_device());
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
    ended_copies().free_idle();
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
