// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include "c_api/runtime.hpp"

#include <portops/core/error.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <pthread.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace portops::python {
namespace {

// --- the runtime ------------------------------------------------------------------------------------------------

std::atomic<bool> is_running = false;
std::atomic<bool> is_forked = false;

void note_fork() { is_forked = is_running.load(); }

}  // namespace

void ensure_runtime() {
  if (is_forked) {
    throw Error(
        "portops: this process was forked from one that had computed with portops, and lacks its threads and devices; "
        "start it by multiprocessing's methods 'spawn' or 'forkserver'");
  }
  if (is_running) return;
  setenv("KOKKOS_DISABLE_WARNINGS", "1", 0);  // Kokkos advises on OpenMP's variables, which are the application's
  impl::start_runtime();
  pthread_atfork(nullptr, nullptr, &note_fork);
  is_running = true;
}

// --- the end ----------------------------------------------------------------------------------------------------

namespace {

/// Changed under the interpreter's lock; what waits for it has none.
std::atomic<int> visits = 0;
std::atomic<bool> is_ending = false;
std::thread::id ending_thread;  ///< it may go on calling

}  // namespace

Visit::Visit() {
  if (is_ending && std::this_thread::get_id() != ending_thread) {
    const nb::gil_scoped_release unlocked;
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  ++visits;
}

Visit::~Visit() {
  --visits;
  visits.notify_all();
}

void end_visits() {
  ending_thread = std::this_thread::get_id();
  is_ending = true;
  const nb::gil_scoped_release unlocked;
  for (int count = visits; count != 0; count = visits) visits.wait(count);
}

// --- options ----------------------------------------------------------------------------------------------------

namespace {

std::vector<Options>& stack() {
  thread_local std::vector<Options> options{{}};
  return options;
}

template <class T>
struct Choice {
  const char* name;
  T value;
};

constexpr Choice<Backend> backends[] = {
    {"cuda", Backend::cuda}, {"openmp", Backend::openmp}, {"serial", Backend::serial}};
constexpr Choice<Math> maths[] = {{"ieee", Math::ieee}, {"tf32", Math::tf32}};
constexpr Choice<Products> products[] = {
    {"automatic", Products::automatic}, {"own", Products::own}, {"kokkos_kernels", Products::kokkos_kernels}};

template <class T, std::size_t n>
std::optional<T> chosen(const char* option, const std::optional<std::string>& name, const Choice<T> (&choices)[n]) {
  if (!name) return std::nullopt;
  std::string expected;
  for (const auto& choice : choices) {
    if (*name == choice.name) return choice.value;
    expected += (expected.empty() ? "'" : ", '") + std::string(choice.name) + "'";
  }
  throw Error("portops.context: " + std::string(option) + " is '" + *name + "', expected one of " + expected);
}

template <class T, std::size_t n>
std::optional<std::string> name_of_choice(const std::optional<T>& value, const Choice<T> (&choices)[n]) {
  if (!value) return std::nullopt;
  return std::find_if(std::begin(choices), std::end(choices), [&](const auto& it) { return it.value == *value; })->name;
}

// --- contexts ---------------------------------------------------------------------------------------------------

/// Under the interpreter's lock. Streams come and go in some libraries, and each context holds memory of Kokkos.
using Key = std::pair<Backend, StreamHandle>;
constexpr std::size_t most_contexts = 64;

std::map<Key, Context>& contexts() {
  static auto& all = *new std::map<Key, Context>;
  return all;
}

const Context& context_of(Backend backend, StreamHandle stream) {
  ensure_runtime();
  if (backend != Backend::cuda) stream = 0;  // hosts have none
  const Key key(backend, stream);
  const auto found = contexts().find(key);
  if (found != contexts().end()) return found->second;
  if (contexts().size() >= most_contexts) contexts().clear();
  // Kokkos' first instance waits for the legacy default stream, and that for it.
  void* const address = stream <= 1 ? nullptr : reinterpret_cast<void*>(stream);
  return contexts().emplace(key, Context(backend, address)).first->second;
}

Backend backend_for(DLDevice device) {
  if (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged) return Backend::cuda;
  static const Backend host = [] {
    const std::vector<Backend> enabled = enabled_backends();
    const bool has_openmp = std::find(enabled.begin(), enabled.end(), Backend::openmp) != enabled.end();
    return has_openmp ? Backend::openmp : Backend::serial;
  }();
  return host;
}

}  // namespace

Options Options::within(const Options& outer) const {
  return {backend ? backend : outer.backend, stream ? stream : outer.stream,
          deterministic ? deterministic : outer.deterministic, math ? math : outer.math,
          products ? products : outer.products};
}

const Options& current_options() { return stack().back(); }

Place::Place(const Options& options, DLDevice device, std::optional<StreamHandle> stream)
    : stream_(options.stream ? *options.stream : stream.value_or(0)),
      context_(context_of(options.backend ? *options.backend : backend_for(device), stream_)) {
  if (options.deterministic) context_.deterministic(*options.deterministic);
  if (options.math) context_.math(*options.math);
  if (options.products) context_.products(*options.products);
}

std::unique_lock<std::mutex> turn_of(const Context& context) {
  static std::mutex serial;
  return context.backend() == Backend::serial ? std::unique_lock(serial) : std::unique_lock<std::mutex>();
}

void forget_contexts() { contexts().clear(); }

void bind_options(nb::module_& m) {
  nb::class_<Options>(m, "Context")
      .def(
          "__init__",
          [](Options* self, const std::optional<std::string>& backend, std::optional<StreamHandle> stream,
             std::optional<bool> deterministic, const std::optional<std::string>& math,
             const std::optional<std::string>& product) {
            new (self) Options{chosen("backend", backend, backends), stream, deterministic, chosen("math", math, maths),
                               chosen("products", product, products)};
          },
          nb::kw_only(), nb::arg("backend") = nb::none(), nb::arg("stream") = nb::none(),
          nb::arg("deterministic") = nb::none(), nb::arg("math") = nb::none(), nb::arg("products") = nb::none())
      .def_prop_ro("backend", [](const Options& self) { return name_of_choice(self.backend, backends); })
      .def_prop_ro("stream", [](const Options& self) { return self.stream; })
      .def_prop_ro("deterministic", [](const Options& self) { return self.deterministic; })
      .def_prop_ro("math", [](const Options& self) { return name_of_choice(self.math, maths); })
      .def_prop_ro("products", [](const Options& self) { return name_of_choice(self.products, products); })
      .def("__enter__",
           [](nb::handle self) {
             stack().push_back(nb::cast<Options&>(self).within(current_options()));
             return self;
           })
      .def(
          "__exit__", [](const Options&, nb::handle, nb::handle, nb::handle) { stack().pop_back(); }, nb::arg().none(),
          nb::arg().none(), nb::arg().none())
      .def("fence", [](const Options& self) {
        const Visit visit;
        const Options options = self.within(current_options());
        const Place place(options, {kDLCPU, 0}, std::nullopt);
        const nb::gil_scoped_release unlocked;
        place.context().fence();
      });
}

}  // namespace portops::python
