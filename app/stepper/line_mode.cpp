#include <istream>

#include "app/stepper/modes.hpp"
#include "app/stepper/step_commands.hpp"
#include "app/terminal/messages.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

void show(const Session& session, const Reply& reply, const attn::Sink& write) {
    switch (reply.shows) {
        case Reply::Shows::step:
            write("\n" + session.step_text());
            return;
        case Reply::Shows::cell:
            write(session.cell_line() + "\n");
            return;
        case Reply::Shows::message:
        case Reply::Shows::page:
            write(reply.text);
            return;
        case Reply::Shows::nothing:
        case Reply::Shows::end:
            return;
    }
}

}  // namespace

void step_by_line(Session& session, const LineSource& source, const attn::Sink& write) {
    write(session.step_text());
    std::string line(std::size_t{1} << 16U, '\0');  // far longer than any command
    const std::streamsize most = std::ssize(line);
    for (std::size_t number = 1;; ++number) {
        if (source.prompts) write("> ");
        line.resize(static_cast<std::size_t>(most));
        source.lines.getline(line.data(), most);
        const std::streamsize count = source.lines.gcount();
        if (count == 0) break;
        if (count == most - 1 && source.lines.fail()) {
            throw attn::ConfigError(source.name + ":" + std::to_string(number) +
                                    ": the line does not end: give a file of commands");
        }
        line.resize(static_cast<std::size_t>(count - (source.lines.eof() ? 0 : 1)));
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos || line[first] == '#') continue;
        try {
            const Reply reply = perform(session, line);
            if (reply.shows == Reply::Shows::end) break;
            show(session, reply, write);
        } catch (const attn::Error& error) {
            if (!source.prompts) {
                throw attn::ConfigError(source.name + ":" + std::to_string(number) + ": " +
                                        error.what());
            }
            report_error(error.what());
        }
    }
    if (source.lines.bad()) throw attn::InputError(source.name + ": cannot be read");
}

}  // namespace app
