#include "muster/msg/session.h"

namespace muster::msg {

std::string_view name(SessionType type) {
  return type == SessionType::task ? "task" : "notification";
}

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::request: return "request";
    case Stage::receive: return "receive";
    case Stage::complete: return "complete";
  }
  return "unknown";
}

std::string_view name(Session::State state) {
  switch (state) {
    case Session::State::requested: return "requested";
    case Session::State::received: return "received";
    case Session::State::completed: return "completed";
    case Session::State::ended: return "ended";
  }
  return "unknown";
}

std::string_view name(Session::Answer answer) {
  switch (answer) {
    case Session::Answer::advanced: return "advanced";
    case Session::Answer::finished: return "finished";
    case Session::Answer::repeated: return "repeated";
    case Session::Answer::late: return "late";
    case Session::Answer::wrong: return "wrong";
  }
  return "unknown";
}

Session::Answer Session::take(SessionType type, Stage stage) {
  if (type != type_ || stage == Stage::request) return Answer::wrong;
  if (stage == Stage::complete && type_ == SessionType::notification) return Answer::wrong;
  if (state_ == State::ended) return Answer::late;
  return stage == Stage::receive ? take_receipt() : take_completion();
}

Session::Answer Session::take_receipt() {
  if (state_ == State::received) return Answer::repeated;
  if (state_ == State::completed) return Answer::late;
  state_ = State::received;
  return is_finished() ? Answer::finished : Answer::advanced;
}

Session::Answer Session::take_completion() {
  if (state_ == State::completed) return Answer::repeated;
  state_ = State::completed;
  return Answer::finished;
}

}  // namespace muster::msg
