// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kokkos_support.hpp"

#include <portops/core/error.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// What happens in a call, as Kokkos' tools interface sees it.

namespace portops::test {

namespace tools = Kokkos::Tools::Experimental;

enum class Kind { kernel, fence, copy, allocation, deallocation, push, pop, error };

struct Event {
  Kind kind;
  std::string name;
  std::uint32_t device = 0;
};

/// Records what Kokkos reports while it lives. There is one at a time: the callbacks are plain functions.
class Recorder {
 public:
  Recorder() : before_(tools::get_callbacks()) {
    events().clear();
    tools::set_begin_parallel_for_callback(begin_kernel);
    tools::set_begin_parallel_reduce_callback(begin_kernel);
    tools::set_begin_parallel_scan_callback(begin_kernel);
    tools::set_begin_fence_callback([](const char* name, std::uint32_t device, std::uint64_t*) {
      // Kokkos itself fences before it calls a tool.
      if (std::string_view(name).find("Kokkos Profile Tool Fence") != std::string_view::npos) return;
      events().push_back({Kind::fence, name, device});
    });
    tools::set_begin_deep_copy_callback([](Kokkos::Tools::SpaceHandle, const char* name, const void*,
                                           Kokkos::Tools::SpaceHandle, const char*, const void*,
                                           std::uint64_t) { events().push_back({Kind::copy, name}); });
    // With every team kernel on CUDA Kokkos reports an allocation of its own, of 0 bytes.
    tools::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t bytes) {
          if (bytes > 0) events().push_back({Kind::allocation, name});
        });
    tools::set_deallocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t bytes) {
          if (bytes > 0) events().push_back({Kind::deallocation, name});
        });
    tools::set_push_region_callback([](const char* name) { events().push_back({Kind::push, name}); });
    tools::set_pop_region_callback([] { events().push_back({Kind::pop, ""}); });
  }
  ~Recorder() { tools::set_callbacks(before_); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  static std::vector<Event>& events() {
    static std::vector<Event> all;
    return all;
  }

 private:
  static void begin_kernel(const char* name, std::uint32_t device, std::uint64_t*) {
    events().push_back({Kind::kernel, name, device});
  }

  tools::EventSet before_;
};

/// What happened in a call, whether or not it threw.
inline std::vector<Event> events_of(const std::function<void()>& call) {
  const Recorder recorder;
  try {
    call();
  } catch (const Error& error) {
    Recorder::events().push_back({Kind::error, error.what()});
  }
  return Recorder::events();
}

inline std::vector<Event> of_kind(const std::vector<Event>& events, Kind kind) {
  std::vector<Event> result;
  std::copy_if(events.begin(), events.end(), std::back_inserter(result),
               [&](const Event& event) { return event.kind == kind; });
  return result;
}

/// portops::op::what[path], where the path may be missing.
inline bool is_label(const std::string& label, const std::string& op, bool with_path) {
  const std::string prefix = "portops::" + op + "::";
  if (label.rfind(prefix, 0) != 0 || label.size() == prefix.size()) return false;
  return !with_path || (label.back() == ']' && label.find('[') > prefix.size() && label.find('[') < label.size() - 2);
}

}  // namespace portops::test
