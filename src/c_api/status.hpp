// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/error.hpp"

#include <portops.h>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

// What every function of the C interface returns, and the one way out of each.

namespace portops::impl {

/// A handle that is not alive, or of another kind.
class HandleError : public Error {
 public:
  using Error::Error;
};

/// Keeps the message for the thread, and returns the status. Never throws.
portops_status failed(portops_status status, const char* message) noexcept;

/// Runs f. What it throws becomes a status and a message.
template <class F>
portops_status guarded(const F& f) noexcept {
  try {
    f();
    return PORTOPS_OK;
  } catch (const HandleError& error) {
    return failed(PORTOPS_ERROR_HANDLE, error.what());
  } catch (const Error& error) {
    return failed(PORTOPS_ERROR_CALL, error.what());
  } catch (const std::bad_alloc&) {
    return failed(PORTOPS_ERROR_MEMORY, "portops: there is not enough memory on the host");
  } catch (const std::exception& error) {
    return failed(PORTOPS_ERROR_UNEXPECTED, error.what());
  } catch (...) {
    return failed(PORTOPS_ERROR_UNEXPECTED, "portops: something was thrown that is no std::exception");
  }
}

void check_address(std::string_view where, std::string_view name, bool is_there);
void check_list_address(std::string_view where, std::string_view name, bool is_there, std::size_t count);

/// Throws Error unless there is something to write a result to, or to read: a name, a list.
template <class T>
void check_pointer(std::string_view where, std::string_view name, const T* pointer) {
  check_address(where, name, pointer != nullptr);
}

/// Throws Error where a list of so many items cannot be: it has items, but no address, or more than there is memory
/// for.
template <class T>
void check_list_pointer(std::string_view where, std::string_view name, const T* items, std::size_t count) {
  check_list_address(where, name, items != nullptr, count);
}

/// Throws Error unless it is 0 or 1.
bool checked_boolean(std::string_view where, std::string_view name, std::int64_t value);

}  // namespace portops::impl
