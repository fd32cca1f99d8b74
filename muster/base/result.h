// Result<T>: a value, or the error that stands in its place.
//
// The names are those of std::expected, so that a later switch is an alias.

#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "muster/base/error.h"

namespace muster {
namespace internal {

// Out of the way of those that succeed, like all that is done with an error.
struct DiscardError {
  [[gnu::cold, gnu::noinline]] void operator()(Error* error) const { delete error; }
};
using HeldError = std::unique_ptr<Error, DiscardError>;

}  // namespace internal

template <class T>
class [[nodiscard]] Result {
 public:
  Result(const T& value) : value_(value) {}
  Result(T&& value) : value_(std::move(value)) {}
  [[gnu::cold, gnu::noinline]] Result(Error error) : error_(new Error(std::move(error))) {}
  Result(Result&&) noexcept = default;
  Result& operator=(Result&&) noexcept = default;
  Result(const Result& other)
      : value_(other.value_), error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  Result& operator=(const Result& other) { return *this = Result(other); }
  ~Result() = default;

  explicit operator bool() const { return error_ == nullptr; }
  bool has_value() const { return error_ == nullptr; }

  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<T> value_;
  internal::HeldError error_;  // Apart, so that success is cheap to hand on.
};

// What an operation returns that has nothing to give but may fail. A word: null
// is success, which every layer of a send hands on.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  [[gnu::cold, gnu::noinline]] Result(Error error) : error_(new Error(std::move(error))) {}
  Result(Result&&) noexcept = default;
  Result& operator=(Result&&) noexcept = default;
  Result(const Result& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  Result& operator=(const Result& other) { return *this = Result(other); }
  ~Result() = default;

  explicit operator bool() const { return error_ == nullptr; }
  bool has_value() const { return error_ == nullptr; }
  void operator*() const {}  // For templates over T.

  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  internal::HeldError error_;
};
using Status = Result<void>;
inline Status ok() { return {}; }

}  // namespace muster

#define MUSTER_CONCAT_IMPL(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_IMPL(a, b)
#define MUSTER_TRY_IMPL(tmp, decl, expr)   \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  decl = *std::move(tmp)

// MUSTER_TRY(auto conn, driver.dial(addr, sink)) unwraps, or returns the error.
#define MUSTER_TRY(decl, expr) MUSTER_TRY_IMPL(MUSTER_CONCAT(try_, __LINE__), decl, expr)

// MUSTER_TRY_OK(f()) returns the error of a Status, or goes on.
#define MUSTER_TRY_OK(expr)                                                        \
  if (auto MUSTER_CONCAT(try_, __LINE__) = (expr); !MUSTER_CONCAT(try_, __LINE__)) \
  return std::move(MUSTER_CONCAT(try_, __LINE__)).error()
