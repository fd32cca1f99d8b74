#include "muster/msg/survey.h"

#include <algorithm>
#include <list>
#include <utility>

#include "muster/msg/message_codec.h"
#include "muster/msg/proxy_wait.h"
#include "muster/net/endpoint.h"

namespace muster::msg {
namespace {

// One member that is asked, until it has answered or cannot.
class Asked final : public net::LinkSink {
 public:
  explicit Asked(Member member) : result{.member = std::move(member)} {}

  void dial(net::Endpoint& endpoint) {
    std::vector<net::Address> addresses;
    for (const std::string& text : result.member.addresses) {
      if (Result<net::Address> address = net::Address::parse(text)) addresses.push_back(*address);
    }
    link_ = endpoint.connect(addresses, *this);
  }
  bool is_done() const { return result.report || result.why_silent; }

  Surveyed result;

 private:
  void on_up(net::Link& link) override {
    MessageHead head;
    head.kind = MessageKind::question;
    head.tag = "question";
    head.session = head.message = Id::random();
    wire::Frame frame;
    write_message_head(head, frame.head);
    // A link that cannot take it is about to end.
    static_cast<void>(link.send(frame));
  }
  void on_message(wire::Frame& frame, net::Lane, std::size_t cost) override {
    link_->done(cost);
    const Result<MessageHead> head = read_message_head(frame.head);
    // A member may introduce itself first, to whoever comes.
    if (!head || head->kind != MessageKind::report || is_done()) return;
    Result<Report> report = read(*head, frame);
    if (report) {
      result.report = *std::move(report);
    } else {
      result.why_silent = report.error();
    }
    link_->close();
  }
  void on_closed(Error why) override {
    if (!is_done()) result.why_silent = std::move(why);
  }

  static Result<Report> read(const MessageHead& head, const wire::Frame& frame) {
    MUSTER_TRY(const wire::Value body, decode_body(head.form, head.compression, frame.parts));
    return to_report(body);
  }

  std::unique_ptr<net::Link> link_;
};

class Survey {
 public:
  Survey(loop::Loop& loop, const SurveyOptions& options) : loop_(loop), options_(options) {}
  ~Survey() {
    const loop::Turn turn(loop_);
    inquiry_.reset();
    asked_.clear();
    endpoint_.reset();
  }
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  Status start() {
    if (options_.registry == nullptr || options_.tokens == nullptr) {
      return Error(Code::invalid, "survey a group: give a registry and the token");
    }
    const loop::Turn turn(loop_);
    net::EndpointOptions links;
    links.tokens = options_.tokens;
    links.name = "onlooker";
    links.drivers = options_.drivers;
    MUSTER_TRY(endpoint_, net::Endpoint::make(loop_, std::move(links)));
    MUSTER_TRY(inquiry_,
               options_.registry->ask(options_.group, [this](Result<std::vector<Member>> roll) {
                 take_roll(std::move(roll));
               }));
    return ok();
  }

  // Under the baton.
  bool is_done() const {
    return why_not_ || (is_counted_ && std::ranges::all_of(asked_, &Asked::is_done));
  }

  Result<std::vector<Surveyed>> take() {
    const loop::Turn turn(loop_);
    const Error late(Code::timeout, "it did not answer in time");
    if (why_not_) return *why_not_;
    if (!is_counted_) return late.during("ask the registry who is in " + options_.group);
    std::vector<Surveyed> results;
    for (Asked& one : asked_) {
      if (!one.is_done()) one.result.why_silent = late;
      results.push_back(std::move(one.result));
    }
    return results;
  }

 private:
  void take_roll(Result<std::vector<Member>> roll) {
    inquiry_.reset();
    if (!roll) {
      why_not_ = roll.error();
      return;
    }
    for (Member& member : *roll) asked_.emplace_back(std::move(member)).dial(*endpoint_);
    is_counted_ = true;
  }

  loop::Loop& loop_;
  const SurveyOptions& options_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<Inquiry> inquiry_;
  std::list<Asked> asked_;
  bool is_counted_ = false;
  std::optional<Error> why_not_;
};

}  // namespace

Result<std::vector<Surveyed>> survey(loop::Loop& loop, const SurveyOptions& options,
                                     const Wait& wait) {
  Survey survey(loop, options);
  MUSTER_TRY_OK(survey.start());
  const internal::Waited waited = internal::wait_for(loop, wait, [&] { return survey.is_done(); });
  if (waited == internal::Waited::cancelled) {
    return internal::why_not(waited, "survey the group " + options.group);
  }
  return survey.take();
}

}  // namespace muster::msg
