#include "muster/drivers/ucx/ucx_pair.h"

#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include "muster/drivers/ucx/library.h"
#include "muster/drivers/ucx/ucx_connection.h"
#include "muster/drivers/ucx/ucx_hub.h"

namespace muster::drivers::ucx {
namespace {

// How often the descriptors are looked through after a sign of life: UCX opens
// some of them when the peer's first bytes come, and a thread of its own does.
constexpr int kSeals = 24;
constexpr std::size_t kMostSpare = 256;

MessageHeader header_at(const void* bytes) {
  MessageHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

}  // namespace

struct UcxPair::Calls {
  static ucs_status_t on_record(void* pair, const void*, std::size_t, void* data, std::size_t size,
                                const ucp_am_recv_param_t* param) {
    const std::span<const std::byte> record(static_cast<const std::byte*>(data), size);
    UcxPair& self = *static_cast<UcxPair*>(pair);
    self.saw_traffic();
    UcxConnection* const connection = self.hub_.find(record_key(record), self);
    if (connection == nullptr) return UCS_OK;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      connection->fail(Error(Code::invalid, "the peer sends a record as a part"));
      return UCS_OK;
    }
    connection->on_record(record);
    return UCS_OK;
  }

  static ucs_status_t on_part(void* pair, const void* header, std::size_t header_size, void* data,
                              std::size_t size, const ucp_am_recv_param_t* param) {
    UcxPair& self = *static_cast<UcxPair*>(pair);
    if (header_size != sizeof(MessageHeader)) return UCS_OK;
    const MessageHeader message = header_at(header);
    UcxConnection* const connection = self.hub_.find(message.key, self);
    // A part that nobody takes is done with, for its sender too.
    if (connection == nullptr) return UCS_OK;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      connection->on_part(message, {static_cast<const std::byte*>(data), size});
      return UCS_OK;
    }
    return connection->on_part(message, data, size) ? UCS_INPROGRESS : UCS_OK;
  }

  static ucs_status_t on_probe(void* pair, const void*, std::size_t, void*, std::size_t,
                               const ucp_am_recv_param_t*) {
    UcxPair& self = *static_cast<UcxPair*>(pair);
    self.saw_traffic();
    self.was_heard_ = true;
    self.hub_.tell_news_later();
    return UCS_OK;
  }

  static void on_sent(void* request, ucs_status_t status, void* user) {
    Outgoing& outgoing = *static_cast<Outgoing*>(user);
    ucp_request_free(request);
    outgoing.pair->finish(outgoing, status);
  }

  static void on_fetched(void* request, ucs_status_t status, std::size_t, void* user) {
    Fetch& fetch = *static_cast<Fetch*>(user);
    ucp_request_free(request);
    fetch.pair->finish(fetch, status);
  }

  static void on_error(void* pair, ucp_ep_h, ucs_status_t status) {
    static_cast<UcxPair*>(pair)->set_failed(status);
  }

  static ucs_status_t listen(ucp_worker_h worker, Kind kind, ucp_am_recv_callback_t call,
                             UcxPair& pair) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = static_cast<unsigned>(kind);
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = call;
    param.arg = &pair;
    return ucp_worker_set_am_recv_handler(worker, &param);
  }
};

UcxPair::UcxPair(UcxHub& hub, const PairKey& key)
    : hub_(hub), key_(key), id_(random_bits() | 1), seals_left_(kSeals) {}

Result<std::unique_ptr<UcxPair>> UcxPair::make(UcxHub& hub, const PairKey& key) {
  std::unique_ptr<UcxPair> made(new UcxPair(hub, key));
  MUSTER_TRY_OK(made->open());
  return made;
}

Status UcxPair::open() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // Any thread, under the baton.
  seal_.begin();
  if (const auto made = ucp_worker_create(hub_.context().get(), &params, &worker_);
      made != UCS_OK) {
    worker_ = nullptr;
    return ucx_error(Code::overloaded, "make a UCX worker", made);
  }
  if (auto set = Calls::listen(worker_, Kind::record, &Calls::on_record, *this); set != UCS_OK) {
    return ucx_error(Code::internal, "listen to records", set);
  }
  if (auto set = Calls::listen(worker_, Kind::part, &Calls::on_part, *this); set != UCS_OK) {
    return ucx_error(Code::internal, "listen to parts", set);
  }
  if (auto set = Calls::listen(worker_, Kind::probe, &Calls::on_probe, *this); set != UCS_OK) {
    return ucx_error(Code::internal, "listen to probes", set);
  }
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (auto got = ucp_worker_get_address(worker_, &address, &size); got != UCS_OK) {
    return ucx_error(Code::overloaded, "ask a UCX worker for its address", got);
  }
  address_ = Buffer::copy_of({reinterpret_cast<const std::byte*>(address), size});
  ucp_worker_release_address(worker_, address);
  if (address_.size() > kMostAddress) {
    return Error(Code::unsupported,
                 "a UCX worker with too many devices; name those to use by UCX_NET_DEVICES");
  }
  if (auto got = ucp_worker_get_efd(worker_, &descriptor_); got != UCS_OK) {
    return ucx_error(Code::unsupported, "sleep until UCX has news; name fabrics by UCX_TLS", got);
  }
  seal_.end();
  MUSTER_TRY_OK(hub_.loop().watch(descriptor_, EPOLLIN, *this));
  is_watched_ = true;
  return ok();
}

UcxPair::~UcxPair() {
  stop_watching();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  // Without the worker nobody is left who could touch what these keep.
}

void UcxPair::stop_watching() {
  if (std::exchange(is_watched_, false)) hub_.loop().unwatch(descriptor_);
}

Status UcxPair::connect(std::uint64_t remote, const Buffer& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &Calls::on_error;
  params.err_handler.arg = this;
  seal_.begin();
  if (const auto made = ucp_ep_create(worker_, &params, &endpoint_); made != UCS_OK) {
    endpoint_ = nullptr;
    return ucx_error(Code::unavailable,
                     "reach the peer by UCX; see that UCX_TLS and UCX_NET_DEVICES name on both "
                     "sides what joins them",
                     made);
  }
  remote_ = remote;
  seal_.end();
  hub_.look_after(*this);
  std::unique_ptr<Outgoing> probe = take_outgoing();
  probe->account = own_;
  send(Kind::probe, std::move(probe), {});
  return ok();
}

void UcxPair::call_when_settled(Waiter& waiter) {
  if (is_settled() || failure_) return waiter.on_settled();
  waiters_.push_back(&waiter);
}

void UcxPair::tell_settled() {
  if (!is_settled() && !failure_) return;
  // One after the other: each may make others forget.
  while (!waiters_.empty()) {
    Waiter* const waiter = waiters_.back();
    waiters_.pop_back();
    waiter->on_settled();
  }
}

void UcxPair::seal_again() {
  --seals_left_;
  seal_.look_again();
}

void UcxPair::on_ready(std::uint32_t) {
  saw_traffic();
  hub_.make_hot(*this);
}

bool UcxPair::progress() {
  // Once: whoever waits for what came should hear of it now.
  return ucp_worker_progress(worker_) != 0;
}

bool UcxPair::arm() {
  const ucs_status_t armed = ucp_worker_arm(worker_);
  if (armed != UCS_OK && armed != UCS_ERR_BUSY) set_failed(armed);
  return armed != UCS_ERR_BUSY;
}

bool UcxPair::send_at_once(std::span<const std::byte> record) {
  ucp_request_param_t param;  // UCX reads what the mask names, and no more.
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  return ucp_am_send_nbx(endpoint_, static_cast<unsigned>(Kind::record), nullptr, 0, record.data(),
                         record.size(), &param) == nullptr;
}

std::unique_ptr<Outgoing> UcxPair::take_outgoing() {
  if (spare_.empty()) return std::make_unique<Outgoing>();
  std::unique_ptr<Outgoing> taken = std::move(spare_.back());
  spare_.pop_back();
  return taken;
}

void UcxPair::send(Kind kind, std::unique_ptr<Outgoing> outgoing,
                   std::span<const std::byte> bytes) {
  Outgoing& message = *outgoing;
  message.pair = this;
  message.charge = sizeof message.header + bytes.size();
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = kind == Kind::part ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &Calls::on_sent;
  param.user_data = &message;
  message.account->bytes += message.charge;
  outgoing_.put(std::move(outgoing));
  const ucs_status_ptr_t sent = ucp_am_send_nbx(
      endpoint_, static_cast<unsigned>(kind), &message.header,
      kind == Kind::part ? sizeof message.header : 0, bytes.data(), bytes.size(), &param);
  if (!UCS_PTR_IS_PTR(sent)) finish(message, UCS_PTR_STATUS(sent));
}

void UcxPair::finish(Outgoing& outgoing, int status) {
  std::unique_ptr<Outgoing> done = outgoing_.take(outgoing);
  const std::shared_ptr<Account> account = std::move(done->account);
  account->bytes -= done->charge;
  done->record = WritableBuffer();
  done->part = Buffer();
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(done));
  if (status != UCS_OK) set_failed(status);
  if (account == own_ && status == UCS_OK) {
    was_probed_ = true;
    hub_.tell_news_later();
  }
  if (account->connection != nullptr) account->connection->on_sent();
}

bool UcxPair::fetch(std::unique_ptr<Fetch> fetch, void* descriptor) {
  Fetch& wanted = *fetch;
  wanted.pair = this;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &Calls::on_fetched;
  param.user_data = &wanted;
  const std::span<std::byte> target = wanted.target.bytes();
  fetches_.put(std::move(fetch));
  const ucs_status_ptr_t started =
      ucp_am_recv_data_nbx(worker_, descriptor, target.data(), target.size(), &param);
  if (UCS_PTR_IS_PTR(started)) return true;
  finish(wanted, UCS_PTR_STATUS(started));
  return UCS_PTR_STATUS(started) == UCS_OK;
}

void UcxPair::finish(Fetch& fetch, int status) {
  const std::unique_ptr<Fetch> done = fetches_.take(fetch);
  if (status != UCS_OK) set_failed(status);
  UcxConnection* const connection = done->account->connection;
  if (connection != nullptr && status == UCS_OK) {
    connection->on_fetched(done->header, std::move(done->target));
  }
}

void UcxPair::set_failed(int status) {
  if (failure_) return;
  failure_ = ucx_error(Code::unavailable, "carry frames by UCX", status);
  hub_.tell_news_later();
}

bool UcxPair::may_close() const {
  return endpoint_ == nullptr || failure_ || is_settled() || !hub_.context().has_devices();
}

void UcxPair::start_closing() {
  if (endpoint_ == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t closing = ucp_ep_close_nbx(std::exchange(endpoint_, nullptr), &param);
  if (UCS_PTR_IS_PTR(closing)) ucp_request_free(closing);
}

}  // namespace muster::drivers::ucx
