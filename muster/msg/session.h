// A session: one request and all that answers it, as the requester sees it. Pure.
//
//   task          request -> receive -> complete; receive may be left out
//   notification  request -> receive

#pragma once

#include <cstdint>
#include <string_view>

namespace muster::msg {

// The numbers travel: append, never renumber.
enum class SessionType : std::uint8_t { task = 1, notification = 2 };

// What a message is to its session.
enum class Stage : std::uint8_t {
  request = 1,
  receive = 2,   // An acknowledgement: it was taken.
  complete = 3,  // The answer. Tasks only.
};

std::string_view name(SessionType type);
std::string_view name(Stage stage);

class Session {
 public:
  enum class State : std::uint8_t {
    requested,
    received,  // Acknowledged; a task goes on, a notification is finished.
    completed,
    ended,  // By its deadline, by its owner, or with its peer.
  };

  // What became of a message that was said to belong to this session.
  enum class Answer : std::uint8_t {
    advanced,  // Acknowledged: not what a wait for completion waits for.
    finished,  // This is what the requester waits for.
    repeated,  // It was there before: a second acknowledgement or completion.
    late,      // The session has ended, or an acknowledgement overtaken by the completion.
    wrong,     // Of another type, or a stage that this type does not have.
  };

  explicit Session(SessionType type = SessionType::task) : type_(type) {}

  Answer take(SessionType type, Stage stage);

  // Nothing that comes changes it any more. Without effect once finished.
  void end() {
    if (!is_finished()) state_ = State::ended;
  }

  SessionType type() const { return type_; }
  State state() const { return state_; }
  bool is_finished() const {
    return state_ == State::completed ||
           (state_ == State::received && type_ == SessionType::notification);
  }
  // Neither finished nor ended.
  bool is_open() const { return !is_finished() && state_ != State::ended; }

 private:
  Answer take_receipt();
  Answer take_completion();

  SessionType type_;
  State state_ = State::requested;
};

std::string_view name(Session::State state);
std::string_view name(Session::Answer answer);

}  // namespace muster::msg
