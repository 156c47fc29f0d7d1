#include "app/terminal/messages.hpp"

#include <cstdio>
#include <string>

namespace app {
namespace {

void report(std::string_view kind, std::string_view message) {
    std::string line = "attn-explain: ";
    line.append(kind).append(": ");
    for (const char character : message) line += character == '\n' ? ' ' : character;
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void report_error(std::string_view message) { report("error", message); }

void report_note(std::string_view message) { report("note", message); }

}  // namespace app
