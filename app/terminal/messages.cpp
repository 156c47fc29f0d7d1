#include "app/terminal/messages.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace app {
namespace {

std::vector<std::string> pending_notes;

void report(std::string_view kind, std::string_view message) {
    std::string line = "attn-explain: ";
    line.append(kind).append(": ");
    for (const char character : message) line += character == '\n' ? ' ' : character;
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void report_error(std::string_view message) {
    pending_notes.clear();
    report("error", message);
}

void report_note(std::string_view message) { pending_notes.emplace_back(message); }

void release_notes() {
    for (const std::string& note : pending_notes) report("note", note);
    pending_notes.clear();
}

}  // namespace app
