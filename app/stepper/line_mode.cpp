#include <istream>

#include "app/stepper/modes.hpp"
#include "app/stepper/step_commands.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

void show(const Session& session, const Reply& reply, StandardOutput& output) {
    switch (reply.shows) {
        case Reply::Shows::step:
            output.write("\n" + session.step_text());
            return;
        case Reply::Shows::cell:
            output.write(session.cell_line() + "\n");
            return;
        case Reply::Shows::message:
        case Reply::Shows::page:
            output.write(reply.text);
            return;
        case Reply::Shows::nothing:
        case Reply::Shows::end:
            return;
    }
}

}  // namespace

void step_by_line(Session& session, const LineSource& source) {
    Pager::forbid();
    StandardOutput output;
    output.write(session.step_text());
    std::string line;
    for (std::size_t number = 1;; ++number) {
        if (source.prompts) output.write("> ");
        output.flush();
        if (!std::getline(source.lines, line)) break;
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos || line[first] == '#') continue;
        try {
            const Reply reply = perform(session, line);
            if (reply.shows == Reply::Shows::end) break;
            show(session, reply, output);
        } catch (const attn::Error& error) {
            if (!source.prompts) {
                output.flush();
                throw attn::ConfigError(source.name + ":" + std::to_string(number) + ": " +
                                        error.what());
            }
            report_error(error.what());
        }
    }
    if (source.lines.bad()) throw attn::InputError(source.name + ": cannot be read");
    output.flush();
}

}  // namespace app
