// UCX as this driver wants it: its settings, its words, its descriptors.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/drivers/ucx/ucx.h"

struct ucp_context;  // NOLINT(readability-identifier-naming): UCX's.

namespace muster::drivers::ucx {

// `status` as UCX gives it.
Error ucx_error(Code code, std::string_view attempt, int status);

class Context {
 public:
  // Code::unsupported if UCX finds nothing to use with these options.
  static Result<std::unique_ptr<Context>> open(const UcxOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ::ucp_context* get() const { return context_; }
  // What it uses, for people.
  std::vector<std::string> fabrics() const;
  // Whether any of that is more than memory.
  bool has_devices() const { return has_devices_; }

 private:
  explicit Context(::ucp_context* context);
  ::ucp_context* context_;
  bool has_devices_;
};

}  // namespace muster::drivers::ucx
