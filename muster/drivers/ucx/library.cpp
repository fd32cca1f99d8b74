#include "muster/drivers/ucx/library.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>

#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include "muster/base/log.h"

namespace muster::drivers::ucx {
namespace {

// What UCX has to say goes where our lines go: it would print by itself.
ucs_log_func_rc_t pass_on(const char*, unsigned, const char*, ucs_log_level_t level,
                          const ucs_log_component_config_t*, const char* format, va_list values) {
  if (level > UCS_LOG_LEVEL_WARN || !log::wants(log::Level::warning)) return UCS_LOG_FUNC_RC_STOP;
  // Settings of ours for fabrics that are not in use.
  if (std::string_view(format).starts_with("invalid configuration")) return UCS_LOG_FUNC_RC_STOP;
  std::array<char, 512> text{};
  std::vsnprintf(text.data(), text.size(), format, values);
  log::warning("ucx says  text " + std::string(text.data()));
  return UCS_LOG_FUNC_RC_STOP;
}

void settle_down() {
  static std::once_flag once;
  std::call_once(once, [] { ucs_log_push_handler(pass_on); });
}

const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_handled_by_ucx(int number) {
  struct sigaction action{};
  if (sigaction(number, nullptr, &action) != 0) return false;
  const bool is_handler = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
  const void* const ours = library_of(reinterpret_cast<const void*>(&ucs_debug_disable_signal));
  return is_handler && ours != nullptr &&
         library_of(reinterpret_cast<const void*>(action.sa_handler)) == ours;
}

// UCX takes signals as soon as it is loaded, used or not: crashes to tell of, SIGHUP to wait for a
// debugger. They are the program's own affair, and go back before main(), to whoever had them.
[[maybe_unused]] const bool kSignalsAreGivenBack = [] {
  for (int number = 1; number < SIGRTMIN; ++number) {
    if (is_handled_by_ucx(number)) ucs_debug_disable_signal(number);
  }
  return true;
}();

constexpr const char* kOnDevice = " on ";

struct Setting {
  const char* name;
  const char* value;
};

// A user may choose otherwise by a variable UCX_...
constexpr Setting kSettings[] = {
    // Receivers fetch; nobody writes into another's memory, so that memory is safe
    // to let go once this side's own operations have ended.
    {"RNDV_SCHEME", "get_zcopy"},
    // Small messages keep their order: one way for all.
    {"MAX_EAGER_LANES", "1"},
    // UCX 1.13 ends the process when a peer resets a tcp connection under such a send.
    {"ZCOPY_THRESH", "inf"},
    // The control connection knows better who is alive.
    {"KEEPALIVE_INTERVAL", "inf"},
    // No hooks in the program's allocator for memory that no GPU owns.
    {"MEMTYPE_CACHE", "n"},
    // A small frame fits into one element of a queue in shared memory.
    {"MM_FIFO_ELEM_SIZE", "256"},
    // Measured: round trips are shorter than with UCX's own 64, and shorter still with 16,
    // but then streams of small frames are slower. Why is not known.
    {"MM_FIFO_SIZE", "32"},
    // Shared memory takes part in ending by force. (Of posix, sysv and cma each.)
    {"MM_ERROR_HANDLING", "y"},
    {"MEMORY_INVALIDATE", "y"},
};

bool is_said(const char* name) {
  return std::getenv(("UCX_" + std::string(name)).c_str()) != nullptr;
}

Status set(ucp_config_t* config, const char* name, const std::string& value) {
  const ucs_status_t done = ucp_config_modify(config, name, value.c_str());
  if (done == UCS_OK) return ok();
  return ucx_error(Code::invalid, "set UCX_" + std::string(name) + " to \"" + value + "\"", done);
}

Status apply(ucp_config_t* config, const UcxOptions& options) {
  for (const Setting& setting : kSettings) {
    if (is_said(setting.name)) continue;
    MUSTER_TRY_OK(set(config, setting.name, setting.value));
  }
  if (!options.fabrics.empty()) MUSTER_TRY_OK(set(config, "TLS", options.fabrics));
  if (!options.devices.empty()) {
    MUSTER_TRY_OK(set(config, "NET_DEVICES", options.devices));
  } else if (!is_said("NET_DEVICES")) {
    MUSTER_TRY_OK(set(config, "NET_DEVICES", "lo"));
  }
  return ok();
}

}  // namespace

Error ucx_error(Code code, std::string_view attempt, int status) {
  return Error(code, ucs_status_string(static_cast<ucs_status_t>(status))).during(attempt);
}

Result<std::unique_ptr<Context>> Context::open(const UcxOptions& options) {
  settle_down();
  ucp_config_t* config = nullptr;
  if (const ucs_status_t read = ucp_config_read(nullptr, nullptr, &config); read != UCS_OK) {
    return ucx_error(Code::unsupported, "read the settings of UCX", read);
  }
  const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> guard(config, &ucp_config_release);
  MUSTER_TRY_OK(apply(config, options));
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (const ucs_status_t made = ucp_init(&params, config, &context); made != UCS_OK) {
    return ucx_error(Code::unsupported,
                     "start UCX; see what UCX_TLS and UCX_NET_DEVICES name, and what `ucx_info -d` "
                     "finds",
                     made);
  }
  return std::unique_ptr<Context>(new Context(context));
}

Context::Context(::ucp_context* context)
    : context_(context), has_devices_(std::ranges::any_of(fabrics(), [](const std::string& fabric) {
        return fabric.find(kOnDevice) != std::string::npos;
      })) {}

Context::~Context() { ucp_cleanup(context_); }

// UCX tells its resources to people only: "# resource 3 : md 2 dev 1 flags -- tcp/lo".
std::vector<std::string> Context::fabrics() const {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  ucp_context_print_info(context_, stream);
  std::fclose(stream);
  std::istringstream lines(std::string(text, size));
  std::free(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.rfind('/');
    if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
    const std::size_t start = line.rfind(' ', slash) + 1;
    std::string fabric = line.substr(start, slash - start);
    const std::string device = line.substr(slash + 1, line.find(' ', slash) - slash - 1);
    if (fabric == "self") continue;  // Knows no end by force, so it is never used.
    if (!device.starts_with("memory")) fabric += kOnDevice + device;
    if (std::ranges::find(found, fabric) == found.end()) found.push_back(std::move(fabric));
  }
  return found;
}

}  // namespace muster::drivers::ucx
