#include "muster/base/error.h"

#include <system_error>

namespace muster {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid: return "invalid";
    case Code::not_found: return "not_found";
    case Code::unsupported: return "unsupported";
    case Code::unavailable: return "unavailable";
    case Code::overloaded: return "overloaded";
    case Code::timeout: return "timeout";
    case Code::cancelled: return "cancelled";
    case Code::failed: return "failed";
    case Code::internal: return "internal";
  }
  return "unknown";
}

Error Error::during(std::string_view attempt) const& { return Error(*this).during(attempt); }

Error Error::during(std::string_view attempt) && {
  message_.insert(0, ": ");
  message_.insert(0, attempt);
  return std::move(*this);
}

std::string Error::describe() const { return std::string(name(code_)) + ": " + message_; }

Error system_error(Code code, std::string_view attempt, int number) {
  // Not strerror(): it is not safe with threads.
  return Error(code, std::generic_category().message(number)).during(attempt);
}

}  // namespace muster
