// The docstrings of Proxy's calls, which stand here for want of a place in Python.

#pragma once

namespace muster::python::docs {

inline constexpr const char* kSend =
    R"(Sends, and waits for the answer: of a task its completion, of a notification its receipt.

The tag is a str or a member of an Enum; instead of it a Message may stand, which says the rest.
Returns once the memory of all arrays is the caller's again. Should it raise, they may still be
read for a while. Raises what the other end failed with, UnavailableError if that was lost,
TimedOutError, NotFoundError and OverloadedError.)";

// With its signature, which is taken from here.
inline constexpr const char* kIsend =
    R"(isend($self, tag, destination=None, body=None, session_type=None, *, timeout=None, priority=None, compression=None, on_loss=None, session_id=None, answers=None, wants_receipt=None, borrow=False)
--

Sends or queues, and returns the session's id at once.

Arrays that are not of muster.empty() are copied. With borrow=True they are not, and what is
returned is a Future: until it is done, leave them unchanged. Its result is the id.
Raises OverloadedError if there is no room; nothing was sent then.)";

inline constexpr const char* kRequest =
    R"(Sends as isend() does, and returns the answer as a Future, which can be awaited.)";

inline constexpr const char* kReply =
    R"(Completes the task that the message asks for; of a notification, acknowledges it.

Returns once the memory of all arrays is the caller's again. Raises InvalidError if the message
was answered before.)";

inline constexpr const char* kFail =
    R"(Completes a task by saying that it failed: FailedError is raised there.

Waits while there is no room for it; OverloadedError if there is none in time.)";

inline constexpr const char* kAcknowledge =
    R"(Tells that the message was taken. Never taken for a completion.

Waits while there is no room for it; OverloadedError if there is none in time.)";

inline constexpr const char* kForward =
    R"(Asks somebody else, in the same session; the answer to a task comes back here.

The receipt of a notification does only with Answers.TO_RECEIVE.)";

inline constexpr const char* kReceiveOnce =
    R"(The next message that answers no session; None if there was none in time.

0 looks and does not wait. Raises once the proxy is over.)";

inline constexpr const char* kReceiveById =
    R"(The answers of these sessions, as Replies, as far as they have come in time.)";

inline constexpr const char* kCollect =
    R"(The answers of these sessions, once so many, or such a share of them, have come.

The others may take `grace` seconds longer, and are cancelled then, unless told otherwise.)";

inline constexpr const char* kIsAnswered =
    R"(True once there is something to take: an answer, or why there is none.)";

inline constexpr const char* kSessionState =
    R"(How far a session is: requested, received, completed, ended; None once its outcome was taken.)";

inline constexpr const char* kCancel =
    R"(Ends a session of ours. What the peer does is not changed. False if it is not open.)";

inline constexpr const char* kLeave = R"(Sends what is queued, says goodbye to all, and ends.)";

inline constexpr const char* kPeerNames = R"(Who of a type is here.)";

inline constexpr const char* kWaitForPeers =
    R"(Returns once they are here, and know us. Raises TimedOutError, which names who is missing.)";

inline constexpr const char* kHasPeers = R"(True if they are here.)";

inline constexpr const char* kNextEvent =
    R"(Who came or went, or what was lost, as a ProxyEvent; None if nothing happened in time.)";

}  // namespace muster::python::docs
