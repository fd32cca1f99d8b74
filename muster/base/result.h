// Result<T>: a value, or the error that stands in its place.
//
// The names are those of std::expected, so that a later switch is an alias.

#pragma once

#include <utility>
#include <variant>

#include "muster/base/error.h"

namespace muster {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

// What an operation returns that has nothing to give but may fail.
using Status = Result<std::monostate>;
inline Status ok() { return std::monostate{}; }

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
