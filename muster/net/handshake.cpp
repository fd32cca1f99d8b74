#include "muster/net/handshake.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/net/invalid.h"
#include "muster/wire/bytes.h"

namespace muster::net {
namespace {

// Offsets of hello and answer; wire.md has the same as tables.
constexpr std::uint32_t kMagic = 0x4b4c534d;  // "MSLK"
constexpr std::size_t kAtLowest = 4;
constexpr std::size_t kAtHighest = 5;
constexpr std::size_t kAtNameSize = 6;
constexpr std::size_t kAtFeatures = 8;
constexpr std::size_t kAtId = 16;
constexpr std::size_t kAtNonce = 32;
constexpr std::size_t kAtMaxBody = 64;
constexpr std::size_t kAtWindow = 72;
constexpr std::size_t kAtSilence = 76;
constexpr std::size_t kAtName = 80;

// A generation, behind the name: in a hello after a byte that counts them.
constexpr std::size_t kGenerationSize = 4;

constexpr std::size_t kMaxReason = 200;

constexpr std::string_view kSalt = "muster link";
constexpr std::string_view kClientLabel = "muster link 2: the client's proof";
constexpr std::string_view kServerLabel = "muster link 2: the server's proof";

// Says nothing that a guesser could use.
Error tokens_differ() { return invalid("the tokens differ"); }

std::string describe(VersionRange range) {
  if (range.lowest == range.highest) return fmt::format("{}", range.lowest);
  return fmt::format("{} to {}", range.lowest, range.highest);
}

std::size_t size_of_introduction(const Introduction& peer) { return kAtName + peer.name.size(); }

void append_generation(std::vector<std::byte>& body, std::uint32_t generation) {
  body.resize(body.size() + kGenerationSize);
  wire::store(body.data() + body.size() - kGenerationSize, generation);
}

// With its size: or what one body ends with could be taken for the beginning of the next.
void append_body(std::vector<std::byte>& transcript, std::span<const std::byte> body) {
  std::byte size[sizeof(std::uint32_t)];
  wire::store(size, static_cast<std::uint32_t>(body.size()));
  transcript.insert(transcript.end(), std::begin(size), std::end(size));
  transcript.insert(transcript.end(), body.begin(), body.end());
}

Result<Introduction> read_introduction(std::span<const std::byte> body, std::size_t tail) {
  if (body.size() > kMaxHandshake) return invalid("the message is too large");
  if (body.size() < kAtName + tail) return invalid("the message is cut short");
  const std::byte* at = body.data();
  if (wire::load<std::uint32_t>(at) != kMagic) return invalid("the peer does not speak muster");
  Introduction peer;
  peer.versions = {wire::load<std::uint8_t>(at + kAtLowest),
                   wire::load<std::uint8_t>(at + kAtHighest)};
  const std::size_t name_size = wire::load<std::uint8_t>(at + kAtNameSize);
  peer.features = wire::load<std::uint64_t>(at + kAtFeatures);
  peer.id = {wire::load<std::uint64_t>(at + kAtId), wire::load<std::uint64_t>(at + kAtId + 8)};
  peer.max_body = wire::load<std::uint64_t>(at + kAtMaxBody);
  peer.window = wire::load<std::uint32_t>(at + kAtWindow);
  peer.silence_ms = wire::load<std::uint32_t>(at + kAtSilence);
  if (name_size > kMaxName || body.size() < kAtName + name_size + tail) {
    return invalid("the peer's name is too long");
  }
  peer.name.assign(reinterpret_cast<const char*>(at + kAtName), name_size);
  if (peer.versions.lowest == 0 || peer.versions.lowest > peer.versions.highest) {
    return invalid("the peer's range of versions is empty");
  }
  if (peer.window < kMinWindow) return invalid("the peer's window is too small");
  return peer;
}

// Text of a stranger's, fit to be shown.
std::string printable(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMaxReason));
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Error read_refusal(std::span<const std::byte> body) {
  if (body.empty()) return {Code::unavailable, "the peer refused"};
  const auto code = static_cast<Code>(body[0]);
  const bool is_plausible =
      code == Code::invalid || code == Code::unsupported || code == Code::overloaded;
  return Error(is_plausible ? code : Code::unavailable, printable(body.subspan(1)))
      .during("the peer refused");
}

Handshake::Message make_refusal(const Error& why) {
  std::vector<std::byte> body{static_cast<std::byte>(why.code())};
  const auto text =
      std::as_bytes(std::span(why.message())).first(std::min(why.message().size(), kMaxReason));
  body.insert(body.end(), text.begin(), text.end());
  return {Kind::refuse, std::move(body)};
}

}  // namespace

Result<Handshake> Handshake::make(Role role, std::span<const std::byte> token,
                                  const Introduction& me, const Nonce& nonce) {
  const Token only{0, {token.begin(), token.end()}};
  return make(role, std::span(&only, 1), me, nonce);
}

Result<Handshake> Handshake::make(Role role, std::span<const Token> tokens, const Introduction& me,
                                  const Nonce& nonce) {
  if (tokens.empty() || tokens.size() > kMaxGenerations) {
    return invalid(
        fmt::format("{} tokens at once; 1 to {} may be", tokens.size(), kMaxGenerations));
  }
  for (const Token& token : tokens) {
    if (token.secret.size() >= kMinToken) continue;
    return invalid(fmt::format("a token of {} bytes is too short; it needs at least {}",
                               token.secret.size(), kMinToken));
  }
  if (me.name.size() > kMaxName) {
    return invalid(fmt::format("the name \"{}\" is longer than {} bytes", me.name, kMaxName));
  }
  if (me.window < kMinWindow) {
    return invalid(fmt::format("a window of {} bytes is too small; it needs at least {}", me.window,
                               kMinWindow));
  }
  Handshake made;
  made.state_ = role == Role::client ? State::awaiting_answer : State::awaiting_hello;
  made.me_ = me;
  made.nonce_ = nonce;
  const auto salt = std::as_bytes(std::span(kSalt));
  for (const Token& token : tokens) {
    made.keys_.push_back({token.generation, derive_key(token.secret, salt, kClientLabel),
                          derive_key(token.secret, salt, kServerLabel)});
  }
  if (role == Role::server) return made;
  made.hello_ = made.introduction(me.versions);
  made.hello_.push_back(static_cast<std::byte>(tokens.size()));
  for (const Token& token : tokens) append_generation(made.hello_, token.generation);
  return made;
}

Handshake::Message Handshake::start() const { return {Kind::hello, hello_}; }

std::vector<std::byte> Handshake::introduction(VersionRange versions) const {
  std::vector<std::byte> body(kAtName + me_.name.size());
  std::byte* at = body.data();
  wire::store(at, kMagic);
  wire::store(at + kAtLowest, versions.lowest);
  wire::store(at + kAtHighest, versions.highest);
  wire::store(at + kAtNameSize, static_cast<std::uint8_t>(me_.name.size()));
  wire::store(at + kAtFeatures, me_.features);
  wire::store(at + kAtId, me_.id.high);
  wire::store(at + kAtId + 8, me_.id.low);
  std::ranges::copy(nonce_, at + kAtNonce);
  wire::store(at + kAtMaxBody, me_.max_body);
  wire::store(at + kAtWindow, me_.window);
  wire::store(at + kAtSilence, me_.silence_ms);
  std::ranges::copy(std::as_bytes(std::span(me_.name)), at + kAtName);
  return body;
}

Handshake::Step Handshake::receive(Kind kind, std::span<const std::byte> body) {
  Step step = dispatch(kind, body);
  if (step) return step;
  const bool was_over = state_ == State::failed;
  state_ = State::failed;
  if (kind != Kind::refuse && !was_over) refusal_ = make_refusal(step.error());
  return std::move(step).error().during("handshake");
}

Handshake::Step Handshake::dispatch(Kind kind, std::span<const std::byte> body) {
  if (state_ == State::failed || state_ == State::done) return invalid("it is over");
  if (kind == Kind::refuse) return read_refusal(body);
  if (kind == Kind::hello && state_ == State::awaiting_hello) return on_hello(body);
  if (kind == Kind::answer && state_ == State::awaiting_answer) return on_answer(body);
  if (kind == Kind::proof && state_ == State::awaiting_proof) return on_proof(body);
  if (kind == Kind::welcome && state_ == State::awaiting_welcome) return on_welcome(body);
  return invalid(fmt::format("a frame of kind {} has no place here", name(kind)));
}

// The newest of ours that stands in the client's list.
Status Handshake::choose(std::span<const std::byte> list) {
  const std::size_t count = list.empty() ? 0 : std::to_integer<std::size_t>(list[0]);
  if (count == 0 || count > kMaxGenerations || list.size() < 1 + count * kGenerationSize) {
    return invalid("the list of generations is cut short");
  }
  const auto knows = [&](std::uint32_t generation) {
    for (std::size_t i = 0; i < count; ++i) {
      if (wire::load<std::uint32_t>(&list[1 + i * kGenerationSize]) == generation) return true;
    }
    return false;
  };
  for (chosen_ = 0; chosen_ < keys_.size(); ++chosen_) {
    if (knows(keys_[chosen_].generation)) return ok();
  }
  chosen_ = 0;
  return Error(Code::invalid,
               fmt::format("the tokens differ: the newest of the client is of generation {}, of "
                           "the server {}",
                           wire::load<std::uint32_t>(&list[1]), keys_.front().generation));
}

Handshake::Step Handshake::on_hello(std::span<const std::byte> body) {
  MUSTER_TRY(peer_, read_introduction(body, 0));
  const int common = std::min(me_.versions.highest, peer_.versions.highest);
  if (common < std::max(me_.versions.lowest, peer_.versions.lowest)) {
    return Error(Code::unsupported,
                 fmt::format("no common version: the client speaks {}, the server {}",
                             describe(peer_.versions), describe(me_.versions)));
  }
  version_ = static_cast<std::uint8_t>(common);
  MUSTER_TRY_OK(choose(body.subspan(size_of_introduction(peer_))));
  append_body(transcript_, body);
  std::vector<std::byte> answer = introduction({version_, version_});
  append_generation(answer, keys_[chosen_].generation);
  append_body(transcript_, answer);
  const Proof proof = hmac(keys_[chosen_].server, transcript_);
  answer.insert(answer.end(), proof.begin(), proof.end());
  transcript_.insert(transcript_.end(), proof.begin(), proof.end());
  state_ = State::awaiting_proof;
  return std::optional(Message{Kind::answer, std::move(answer)});
}

Handshake::Step Handshake::on_answer(std::span<const std::byte> body) {
  MUSTER_TRY(const Introduction peer, read_introduction(body, kGenerationSize + kProofSize));
  const auto generation = wire::load<std::uint32_t>(&body[size_of_introduction(peer)]);
  const auto found = std::ranges::find(keys_, generation, &Keys::generation);
  if (found == keys_.end()) return tokens_differ();
  chosen_ = static_cast<std::size_t>(found - keys_.begin());
  const std::span<const std::byte> said = body.first(body.size() - kProofSize);
  append_body(transcript_, hello_);
  append_body(transcript_, said);
  const std::span<const std::byte> proof = body.last(kProofSize);
  if (!is_same(hmac(keys_[chosen_].server, transcript_), proof)) return tokens_differ();
  // Believed from here on.
  peer_ = peer;
  version_ = peer.versions.highest;
  if (version_ < me_.versions.lowest || version_ > me_.versions.highest) {
    return Error(Code::unsupported, fmt::format("the server chose version {}, the client speaks {}",
                                                version_, describe(me_.versions)));
  }
  transcript_.insert(transcript_.end(), proof.begin(), proof.end());
  const Proof own = hmac(keys_[chosen_].client, transcript_);
  state_ = State::awaiting_welcome;
  return std::optional(Message{Kind::proof, {own.begin(), own.end()}});
}

Handshake::Step Handshake::on_proof(std::span<const std::byte> body) {
  if (!is_same(hmac(keys_[chosen_].client, transcript_), body)) return tokens_differ();
  state_ = State::done;
  return std::optional(Message{Kind::welcome, {}});
}

Handshake::Step Handshake::on_welcome(std::span<const std::byte> body) {
  if (!body.empty()) return invalid("a welcome has no body");
  state_ = State::done;
  return std::optional<Message>();
}

}  // namespace muster::net
