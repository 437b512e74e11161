// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/device_copies.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include "core/cuda_pool.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#endif

namespace portops::impl {

#if defined(KOKKOS_ENABLE_CUDA)

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail("portops::Levels: ", what, ": ", cudaGetErrorString(status));
}

/// Lets this thread make calls that have nothing to do with the graphs that it, or another thread, is capturing.
class BesideCaptures {
 public:
  BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Makes a device current while it lives.
class OfDevice {
 public:
  explicit OfDevice(int device) {
    cudaGetDevice(&before_);
    if (before_ != device) cudaSetDevice(device);
  }
  ~OfDevice() { cudaSetDevice(before_); }
  OfDevice(const OfDevice&) = delete;
  OfDevice& operator=(const OfDevice&) = delete;

 private:
  int before_ = 0;
};

/// The stream, one a device, on which copies are made and freed. It is kept until the program ends.
cudaStream_t stream_of_copies(int device) {
  static std::mutex mutex;
  static std::array<cudaStream_t, 64> streams{};
  const std::lock_guard lock(mutex);
  cudaStream_t& stream = streams.at(static_cast<std::size_t>(device));
  if (stream == nullptr) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream for the copies of tables");
  }
  return stream;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "the stream cannot be asked whether it is being captured");
  return status != cudaStreamCaptureStatusNone;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "no event");
  return event;
}

/// A device's copy. Its memory is taken and returned in the order of the stream of copies, which waits for the calls
/// that read it by events: these outlive the calls' streams.
class Copy {
 public:
  Copy(int device, const void* from, std::size_t bytes) : device_(device) {
    const BesideCaptures beside;
    const OfDevice of_device(device);
    const cudaStream_t stream = stream_of_copies(device);
    made_ = new_event();
    data_ = allocate_in_pool(device, stream, bytes);
    if (data_ == nullptr) fail("portops::Levels: no memory for ", bytes, " bytes on device ", device);
    // The host's memory is not page-locked: it has been read when this returns.
    check(cudaMemcpyAsync(data_, from, bytes, cudaMemcpyHostToDevice, stream), "a table cannot be copied");
    check(cudaEventRecord(made_, stream), "no event");
  }

  ~Copy() {
    // Errors have nowhere to go: the program may be ending, and CUDA gone.
    const BesideCaptures beside;
    const OfDevice of_device(device_);
    const cudaStream_t stream = stream_of_copies(device_);
    for (const auto& [user, last_use] : uses_) {
      cudaStreamWaitEvent(stream, last_use, 0);
      cudaEventDestroy(last_use);
    }
    cudaFreeAsync(data_, stream);
    cudaEventDestroy(made_);
    cudaGetLastError();
  }

  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  int device() const { return device_; }

  const void* acquire(cudaStream_t stream) {
    if (is_made_) return data_;
    if (is_capturing(stream)) {
      const BesideCaptures beside;
      check(cudaEventSynchronize(made_), "a table was not copied");
      is_made_ = true;
    } else if (cudaEventQuery(made_) == cudaSuccess) {
      is_made_ = true;
    } else {
      cudaGetLastError();  // "not ready" is no error, but would be found as one by whoever asks next
      check(cudaStreamWaitEvent(stream, made_, 0), "a stream cannot wait for a table");
    }
    return data_;
  }

  /// False where the use is captured in a graph.
  bool release(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone) return false;
    auto use = std::find_if(uses_.begin(), uses_.end(), [stream](const auto& other) { return other.first == stream; });
    if (use == uses_.end()) {
      cudaEvent_t event = nullptr;
      if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return false;
      use = uses_.insert(uses_.end(), {stream, event});
    }
    cudaEventRecord(use->second, stream);
    return true;
  }

 private:
  int device_;
  void* data_ = nullptr;
  cudaEvent_t made_ = nullptr;
  bool is_made_ = false;
  std::list<std::pair<cudaStream_t, cudaEvent_t>> uses_;
};

}  // namespace

class DeviceCopies::OnDevice {
 public:
  OnDevice(const void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  const void* acquire(const Kokkos::Cuda& space) {
    const std::lock_guard lock(mutex_);
    Copy* copy = find(space.cuda_device());
    if (copy == nullptr) copy = &copies_.emplace_back(space.cuda_device(), data_, bytes_);
    return copy->acquire(space.cuda_stream());
  }

  bool release(const Kokkos::Cuda& space) {
    const std::lock_guard lock(mutex_);
    Copy* copy = find(space.cuda_device());
    return copy == nullptr || copy->release(space.cuda_stream());
  }

 private:
  Copy* find(int device) {
    for (Copy& copy : copies_) {
      if (copy.device() == device) return &copy;
    }
    return nullptr;
  }

  const void* data_;
  std::size_t bytes_;
  std::mutex mutex_;
  std::list<Copy> copies_;
};

DeviceCopies::DeviceCopies(const void* data, std::size_t bytes)
    : data_(data), on_device_(bytes == 0 ? nullptr : std::make_unique<OnDevice>(data, bytes)) {}

const void* DeviceCopies::acquire(const Context& ctx) const {
  if (ctx.backend() != Backend::cuda || on_device_ == nullptr) return data_;
  return on_device_->acquire(instance<Backend::cuda>(ctx));
}

void DeviceCopies::release(const Context& ctx) const {
  if (ctx.backend() != Backend::cuda || on_device_ == nullptr) return;
  if (!on_device_->release(instance<Backend::cuda>(ctx))) is_in_graph_ = true;
}

#else

class DeviceCopies::OnDevice {};

DeviceCopies::DeviceCopies(const void* data, std::size_t) : data_(data) {}

const void* DeviceCopies::acquire(const Context&) const { return data_; }

void DeviceCopies::release(const Context&) const {}

#endif

DeviceCopies::~DeviceCopies() = default;

}  // namespace portops::impl
