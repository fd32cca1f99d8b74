#include "muster/drivers/zmq/doorkeeper.h"

#include <array>
#include <utility>

#include <sys/epoll.h>
#include <zmq.h>

namespace muster::drivers::zmq {
namespace {

// Where libzmq asks.
constexpr const char* kEndpoint = "inproc://zeromq.zap.01";
constexpr std::string_view kVersion = "1.0";
constexpr std::string_view kYes = "200";
constexpr std::string_view kNo = "400";
// The parts of a request.
enum Field : std::size_t {
  version,
  request_id,
  domain,
  address,
  routing_id,
  mechanism,
  key,
  count
};

std::string_view text_of(const Message& message) {
  return {reinterpret_cast<const char*>(message.bytes().data()), message.size()};
}

}  // namespace

std::string_view status_of(std::span<const std::string_view> request,
                           const Doorkeeper::Decide& decide) {
  if (request.size() != Field::count || request[Field::version] != kVersion) return kNo;
  if (request[Field::mechanism] != "CURVE") return kNo;
  const bool may = decide(request[Field::domain], std::as_bytes(std::span(request[Field::key])));
  return may ? kYes : kNo;
}

Doorkeeper::Doorkeeper(loop::Loop& loop, void* context, Decide decide)
    : loop_(loop), decide_(std::move(decide)), socket_(context, ZMQ_REP) {}

Doorkeeper::~Doorkeeper() {
  if (watching_ >= 0) loop_.unwatch(watching_);
}

Status Doorkeeper::start() {
  if (!socket_.is_open()) return Error(Code::overloaded, zmq_strerror(zmq_errno()));
  MUSTER_TRY_OK(socket_.bind(kEndpoint));
  const int descriptor = socket_.descriptor();
  MUSTER_TRY_OK(loop_.watch(descriptor, EPOLLIN, *this));
  watching_ = descriptor;
  return ok();
}

void Doorkeeper::on_ready(std::uint32_t) {
  // All of them: the descriptor tells of the first only.
  while (socket_.receive(request_)) answer();
}

void Doorkeeper::answer() {
  std::vector<std::string_view> fields;
  for (const Message& part : request_) fields.push_back(text_of(part));
  const std::string_view id = fields.size() > Field::request_id ? fields[Field::request_id] : "";
  // Status, a text for people, a user's name and what else is known of it.
  const std::array<std::string_view, 6> reply = {kVersion, id, status_of(fields, decide_),
                                                 "",       "", ""};
  for (std::size_t i = 0; i < reply.size(); ++i) {
    Message::copy_of(std::as_bytes(std::span(reply[i]))).send(socket_.get(), i + 1 < reply.size());
  }
}

}  // namespace muster::drivers::zmq
