// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_file.hpp"

#include <portops/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace portops::apps {

namespace fs = std::filesystem;

namespace {

/// A temporary file that a signal handler must remove.
struct Slot {
  std::atomic<const char*> path;
  Slot* next;
};

// A handler may only touch lock-free atomics and make system calls, hence this list, from which nothing is ever taken
// away: slots are used again.
std::atomic<Slot*> slots{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<Slot*>::is_always_lock_free);

extern "C" void remove_files_and_die(int signal) {
  for (const Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    if (const char* name = slot->path.load()) unlink(name);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action{};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // ignored, as by nohup, or somebody else's
    action.sa_handler = remove_files_and_die;
    sigaction(signal, &action, nullptr);
  }
}

void remember(const char* path) {
  static const bool installed = (install_handlers(), true);
  static_cast<void>(installed);
  for (Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    const char* none = nullptr;
    if (slot->path.compare_exchange_strong(none, path)) return;
  }
  auto* const slot = new Slot{path, slots.load()};  // NOLINT: the list keeps it
  while (!slots.compare_exchange_weak(slot->next, slot)) {
  }
}

void forget(const char* path) {
  for (Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    if (slot->path.load() == path) slot->path = nullptr;
  }
}

[[noreturn]] void fail(const std::string& name, int error) {
  throw Error(name + ": cannot be written: " + std::strerror(error));
}

/// The name of a file that is not there, behind the symbolic links that lead to it.
fs::path followed(fs::path name) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::error_code error;
  for (int links = 0; links < most_links && fs::is_symlink(name, error); ++links) {
    name = name.parent_path() / fs::read_symlink(name, error);
  }
  return name;
}

}  // namespace

OutputFile::OutputFile(const std::string& name) : name_(name) {
  struct stat status{};
  existed_ = stat(name.c_str(), &status) == 0;
  if (!existed_ && errno != ENOENT) fail(name, errno);
  if (existed_ && S_ISDIR(status.st_mode)) throw Error(name + ": is a folder, expected the name of a file to write");
  if (existed_ && !S_ISREG(status.st_mode)) {
    open_directly();
    return;
  }
  // Renaming would replace a write-protected file and a symbolic link without a word: neither is what was asked for.
  if (existed_ && access(name.c_str(), W_OK) != 0) fail(name, errno);
  std::error_code error;
  destination_ = existed_ ? fs::canonical(name, error) : followed(name);
  if (error) fail(name, error.value());  // an open file without a name, as one that was removed
  if (!destination_.has_filename()) throw Error("'" + name + "': is not the name of a file to write");
  mode_ = status.st_mode & 07777;
  create_temporary();
}

void OutputFile::open_directly() {
  const int descriptor = open(name_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(name_, errno);
  stream_ = fdopen(descriptor, "wb");
  if (stream_ != nullptr) return;
  ::close(descriptor);
  fail(name_, ENOMEM);
}

void OutputFile::create_temporary() {
  static std::atomic<int> count{0};
  int descriptor = -1;
  while (descriptor < 0) {
    const std::string unique = std::to_string(getpid()) + "-" + std::to_string(count++);
    temporary_ = destination_.parent_path() / (".portops-" + unique + ".part");
    remember(temporary_.c_str());  // before it is there: a signal may come as soon as it is
    descriptor = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) break;
    const int error = errno;
    forget(temporary_.c_str());
    if (error != EEXIST) fail(name_, error);
  }
  // The mode that a file gets here may not let it be opened again: it has its own only once it is finished.
  struct stat status{};
  if (!existed_ && fstat(descriptor, &status) == 0) mode_ = status.st_mode & 07777;
  static_cast<void>(fchmod(descriptor, S_IRUSR | S_IWUSR));
  ::close(descriptor);
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  forget(temporary_.c_str());
}

std::FILE* OutputFile::stream() {
  if (stream_ == nullptr) stream_ = std::fopen(temporary_.c_str(), "r+be");
  if (stream_ == nullptr) fail(name_, errno);
  return stream_;
}

void OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, stream()) != bytes) fail(name_, errno);
}

void OutputFile::finish() {
  // A full disk may show at any of these steps, and only there.
  if (std::fflush(stream()) != 0) fail(name_, errno);
  if (!temporary_.empty()) {
    static_cast<void>(fchmod(fileno(stream_), mode_));
    if (fsync(fileno(stream_)) != 0) fail(name_, errno);
  }
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) fail(name_, errno);
  is_finished_ = true;
}

void OutputFile::rename() {
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), destination_.c_str()) != 0) fail(name_, errno);
  forget(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::commit(std::deque<OutputFile>& files) {
  for (OutputFile& file : files) {
    if (!file.is_finished_) file.finish();
  }
  for (auto file = files.begin(); file != files.end(); ++file) {
    try {
      file->rename();
    } catch (const Error&) {
      // Half of the results is no result. A file that was replaced cannot be brought back, so it stays, complete.
      for (auto placed = files.begin(); placed != file; ++placed) {
        if (!placed->existed_) unlink(placed->destination_.c_str());
      }
      throw;
    }
  }
}

FileIdentity identity_of(const std::string& name) {
  struct stat status{};
  if (stat(name.c_str(), &status) == 0) return {status.st_dev, status.st_ino, {}};
  // What is not there yet is known by its name, in a folder that may have several.
  std::error_code error;
  const fs::path absolute = fs::absolute(followed(name), error);
  const fs::path path = error ? fs::path() : fs::weakly_canonical(absolute, error);
  return {0, 0, error ? fs::path(name) : path};
}

}  // namespace portops::apps
