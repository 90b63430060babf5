// SPDX-License-Identifier: Apache-2.0
#include "call_steps.h"

#include "format/format.h"

namespace ompass {

namespace {

using format::MessageRole;

std::string rank_text(uint32_t peer) {
    if (peer == format::kNoPeer) return "an unknown rank";
    if (peer == format::kAnyPeer) return "any rank";
    return "rank " + std::to_string(peer - format::kFirstPeer);
}
std::string tag_text(uint32_t tag) { return tag == format::kAnyTag ? ", any tag" : ", tag " + std::to_string(tag); }

std::string message_text(const format::Message &message) {
    switch (message.role) {
    case MessageRole::kNone: return "no message";
    case MessageRole::kSend: return "sends to " + rank_text(message.peer) + tag_text(message.tag);
    case MessageRole::kSynchronousSend:
        return "sends synchronously to " + rank_text(message.peer) + tag_text(message.tag);
    case MessageRole::kReceive: return "receives from " + rank_text(message.peer) + tag_text(message.tag);
    case MessageRole::kCollective: break;
    }
    const std::string root = message.peer == format::kNoPeer ? "" : ", root " + rank_text(message.peer);
    return "collective of " + std::to_string(message.tag) + " ranks" + root;
}

std::string size_text(uint64_t word) {
    const format::Message message = format::unpack_message(word, 0);
    const std::string bytes = message.bytes ? std::to_string(message.bytes) + " bytes, " : "";
    return bytes + "communicator " + std::to_string(message.communicator);
}

std::string of(const char *what, uint64_t value, const char *unit) {
    return std::string(what) + " " + std::to_string(value) + unit;
}

} // namespace

std::string call_step_text(uint64_t word) {
    const uint64_t value = format::step_value(word);
    switch (format::call_step(word)) {
    case format::kLeaveCall: return word == format::kLeaveCall ? "leaves" : "leaves: " + size_text(word);
    case format::kEnterCall:
        return format::enters_with_message(word) ? "enters: " + message_text(format::unpack_message(0, word))
                                                 : "enters";
    case format::kStepBegin: return "begins a step";
    case format::kDataStep: return of("data operation of", value, " bytes");
    case format::kLaunchStep: return "launched a kernel";
    case format::kDeviceDataStep: return of("data operation took", value, " ns");
    case format::kDeviceKernelStep: return of("kernel took", value, " ns");
    case format::kSizeStep: return size_text(word);
    case format::kMessageStep: return message_text(format::unpack_message(0, word));
    case format::kRequestStep: return of("new request", value, "");
    case format::kAwaitedStep: return of("completes request", value, "");
    }
    return of("unknown step", format::call_step(word), "");
}

} // namespace ompass
