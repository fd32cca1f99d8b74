// Keep-alive: when to say something, and when the peer is lost. Pure.

#pragma once

#include <algorithm>
#include <cstdint>

#include "muster/base/clock.h"

namespace muster::net {

class KeepAlive {
 public:
  enum class Verdict : std::uint8_t { fine, beat, lost };

  // Beats every `beat` unless something else was sent; loses the peer after
  // `silence`. check() is to come about every tick().
  void start(Duration beat, Duration silence, TimePoint now) {
    beat_ = beat;
    silence_ = silence;
    last_check_ = last_heard_ = last_sent_ = now;
    was_heard_ = was_sent_ = false;
  }
  Duration tick() const { return beat_ / 10; }

  // Marks only: the data path asks for no time.
  void heard() { was_heard_ = true; }
  void sent() { was_sent_ = true; }

  Verdict check(TimePoint now) {
    const bool is_late = now - last_check_ > beat_ / 2;
    last_check_ = now;
    if (was_heard_) last_heard_ = now;
    if (was_sent_) last_sent_ = now;
    was_heard_ = was_sent_ = false;
    // Nobody looked for a while: this process was stopped or starved, and what
    // the peer sent may lie unread. It gets one more beat.
    if (is_late) last_heard_ = std::max(last_heard_, now - silence_ + beat_);
    if (now - last_heard_ >= silence_) return Verdict::lost;
    if (now - last_sent_ >= beat_) return Verdict::beat;
    return Verdict::fine;
  }

  Duration silence() const { return silence_; }
  // How long the peer has said nothing; looked at only once a tick.
  Duration silent_for(TimePoint now) const {
    return was_heard_ ? Duration::zero() : now - last_heard_;
  }

 private:
  Duration beat_{};
  Duration silence_{};
  TimePoint last_check_{};
  TimePoint last_heard_{};
  TimePoint last_sent_{};
  bool was_heard_ = false;
  bool was_sent_ = false;
};

}  // namespace muster::net
