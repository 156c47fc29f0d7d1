#include "app/stepper/step_commands.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

using Shows = Reply::Shows;

/// Reads the count after a command's name; 1 without one.
std::ptrdiff_t count_of(const std::string& name, const std::string& text) {
    if (text.empty()) return 1;
    const std::int64_t count = parse_integer(name, text);
    if (count < 1) throw attn::ConfigError(name + " takes a number from 1 on, not " + text);
    return count;
}

/// Goes to `weights[0,1]`, or to `0,1` of this step.
void go_to_cell_of(Session& session, const std::string& specified) {
    const std::size_t open = specified.find('[');
    const bool is_whole = open != specified.npos && specified.ends_with(']');
    if (is_whole && open > 0) session.go_to(specified.substr(0, open));
    session.go_to_cell(is_whole ? specified.substr(open + 1, specified.size() - open - 2)
                                : specified);
}

/// Moves to the next step, or reports the end.
Reply next_step(Session& session, std::ptrdiff_t count) {
    const std::size_t before = session.step();
    session.next(count);
    if (session.step() != before) return {Shows::step};
    return {Shows::message, count > 0 ? "this is the last step\n" : "this is the first step\n"};
}

template <int rows, int columns>
Reply moved(Session& session, const std::string& count) {
    const std::ptrdiff_t by = count_of(rows < 0      ? "up"
                                       : rows > 0    ? "down"
                                       : columns < 0 ? "left"
                                                     : "right",
                                       count);
    session.move(rows * by, columns * by);
    return {Shows::cell};
}

/// Runs an action, with its arguments if any. Returns a reply with the new state or the action's
/// message.
template <auto act, Shows shows>
Reply done(Session& session, const std::string& words) {
    const auto run = [&] {
        if constexpr (std::is_invocable_v<decltype(act), Session&>) {
            return std::invoke(act, session);
        } else {
            return std::invoke(act, session, words);
        }
    };
    if constexpr (std::is_void_v<decltype(run())>) {
        run();
        return {shows};
    } else {
        return {shows, run() + (shows == Shows::message ? "\n" : "")};
    }
}

template <int columns>
void go_to_end(Session& session) {
    session.move(0, columns * (std::numeric_limits<std::ptrdiff_t>::max() / 2));
}

template <int decimals>
void add_decimals(Session& session) {
    session.set_precision(session.precision() + decimals);
}

template <bool forward>
void turn_page(Session& session) {
    session.turn_page(forward);
}

Reply turned(Session& session, const std::string& axis, const std::string& number) {
    session.turn(axis, number.empty() ? std::nullopt : std::optional(parse_integer(axis, number)));
    return {Shows::cell};
}

/// Finds a command by its name or an unambiguous prefix; `w` is write, as in editors.
const StepCommand& find_command(const std::string& name) {
    const StepCommand* found = nullptr;
    bool several = false;
    std::vector<std::string> names;
    for (const StepCommand& command : step_commands()) {
        if (command.name == (name == "w" ? "write" : name)) return command;
        if (command.name.starts_with(name)) {
            several = found != nullptr;
            if (found == nullptr) found = &command;
        }
        names.push_back(command.name);
    }
    if (found != nullptr && !several) return *found;
    throw attn::ConfigError((several ? "several commands begin with '" : "there is no command '") +
                            name + "'" + attn::did_you_mean(name, names, ": help lists them"));
}

}  // namespace

const std::vector<StepCommand>& step_commands() {
    using Words = const std::string&;
    static const std::vector<StepCommand> all{
        {"next", "[N]", "n Space Shift-Right", "the next step",
         [](Session& s, Words count) { return next_step(s, count_of("next", count)); }},
        {"previous", "[N]", "p Shift-Left", "the step before",
         [](Session& s, Words count) { return next_step(s, -count_of("previous", count)); }},
        {"goto", "STEP", "g", "a step by its name or number", done<&Session::go_to, Shows::step>,
         "goto weights"},
        {"search", "TEXT", "/", "the next step whose words contain TEXT",
         done<&Session::search, Shows::step>, "search softmax"},
        {"list", "", "", "the steps with their shapes", done<&Session::list_text, Shows::page>},
        {"left", "[N]", "h Left", "move the cell", moved<0, -1>},
        {"down", "[N]", "j Down", "", moved<1, 0>},
        {"up", "[N]", "k Up", "", moved<-1, 0>},
        {"right", "[N]", "l Right", "", moved<0, 1>},
        {"first", "", "Home 0", "the first cell of the row", done<go_to_end<-1>, Shows::cell>},
        {"last", "", "End $", "the last cell of the row", done<go_to_end<1>, Shows::cell>},
        {"most", "", "m", "the largest number of the row", done<&Session::go_to_most, Shows::cell>},
        {"cell", "I,J,...", "", "a cell by numbers or words: cell 0,short,eat",
         [](Session& s, Words indices) {
             if (!indices.empty()) s.go_to_cell(indices);
             return Reply{Shows::cell};
         }},
        {"page", "", "Tab", "the next head", done<turn_page<true>, Shows::cell>},
        {"page-back", "", "Shift-Tab", "the head before", done<turn_page<false>, Shows::cell>},
        {"head", "[N]", "", "head number N; the next one",
         [](Session& s, Words number) { return turned(s, "head", number); }},
        {"batch", "[N]", "B", "sequence number N; the next one",
         [](Session& s, Words number) { return turned(s, "batch", number); }},
        {"why", "[DEPTH]", "w",
         "the whole derivation of the number, or of a cell: why weights[0,1]",
         [](Session& s, Words specified) {
             const bool is_depth = specified.find_first_not_of("0123456789-") == specified.npos;
             if (!is_depth) go_to_cell_of(s, specified);
             const std::ptrdiff_t levels = count_of("why", is_depth ? specified : "");
             if (levels > 20) throw attn::ConfigError("why goes at most 20 levels deep");
             return Reply{Shows::page, s.why(static_cast<std::size_t>(levels), 12)};
         }},
        {"dive", "", "Enter", "go to the cell that the number came from",
         [](Session& s, Words) {
             s.dive();
             return Reply{Shows::cell, s.trail_line()};
         }},
        {"other", "", "x", "go to the other cell that it came from",
         [](Session& s, Words) {
             s.other_source();
             return Reply{Shows::cell, s.trail_line()};
         }},
        {"back", "", "Backspace", "return from a dive", done<&Session::back, Shows::cell>},
        {"gradient", "", "b", "to the gradient of this step, with --backward, and back to it",
         done<&Session::go_to_gradient, Shows::step>},
        {"set", "NAME=VALUE", "", "change a setting, mark the differences: set mask=causal",
         done<&Session::set, Shows::message>},
        {"undo", "", "u", "undo the last set", done<&Session::undo, Shows::message>},
        {"only", "[STEPS]", "", "show only steps or slices: only weights[0],x; alone: all again",
         done<&Session::only, Shows::step>},
        {"detail", "", "d", "show or hide parameters and the parts of softmax",
         [](Session& s, Words) {
             s.toggle_detail();
             return Reply{Shows::page, s.list_text()};
         }},
        {"precision", "N", "", "decimals of the numbers",
         [](Session& s, Words decimals) {
             s.set_precision(parse_integer("precision", decimals));
             return Reply{Shows::step};
         },
         "precision 6"},
        {"more-digits", "", "+ =", "one decimal more", done<add_decimals<1>, Shows::step>},
        {"fewer-digits", "", "-", "one decimal less", done<add_decimals<-1>, Shows::step>},
        {"print", "", "t", "the step as the walk prints it",
         done<&Session::step_text, Shows::page>},
        {"write", "FILE", "", "write the step to a file: weights.npy, .csv, .svg",
         [](Session& s, Words path) {
             s.write(path);
             return Reply{Shows::message, "wrote " + attn::visible(path) + "\n"};
         },
         "write weights.npy"},
        {"help", "", "? F1", "this page",
         [](Session&, Words) {
             return Reply{Shows::page, step_help()};
         }},
        {"quit", "", "q", "end", [](Session&, Words) { return Reply{Shows::end}; }},
    };
    return all;
}

bool has_key(const StepCommand& command, const std::string& key) {
    const std::vector<std::string> keys = split(command.keys, ' ');
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Reply perform(Session& session, const std::string& line) {
    const std::string text(attn::trimmed(line));
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const StepCommand& command = find_command(text.substr(0, end));
    const std::string arguments(attn::trimmed(text.substr(end)));
    if (!arguments.empty() && command.arguments.empty()) {
        throw attn::ConfigError(command.name + " takes no argument: leave out '" + arguments + "'");
    }
    if (arguments.empty() && !command.example.empty()) {
        throw attn::ConfigError("something is missing, as in: " + command.example);
    }
    return command.run(session, arguments);
}

std::string step_help() {
    std::string text =
        "Each step of attention makes one tensor out of those before it. n and p go\n"
        "from step to step, the arrows move the cell, and the lower box shows where its\n"
        "number comes from. At the edge of a tensor Right and Left go on to the next\n"
        "step and the one before.\n"
        "\n"
        "Which word does a query attend to most, and why?\n"
        "  g weights Enter   go to the attention weights: rows are queries, columns keys\n"
        "  Tab               turn to the next head, where there are several\n"
        "  j or Down         move to the row of the query\n"
        "  m                 go to the largest of the row: its column is the word\n"
        "  Enter             dive into its score; again: into the query and key behind it\n"
        "  Backspace         return\n"
        "\n"
        "key                 command          what it does\n";
    for (const StepCommand& command : step_commands()) {
        std::string keys = command.keys;
        std::string name = ":" + command.name;
        if (!command.arguments.empty()) name += " " + command.arguments;
        keys.resize(std::max<std::size_t>(keys.size() + 1, 20), ' ');
        name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
        const std::vector<std::string> words = attn::wrap(command.help, 79 - (keys + name).size());
        text += keys + name + attn::joined(words, "\n" + std::string((keys + name).size(), ' '));
        text.erase(text.find_last_not_of(' ') + 1);
        text += "\n";
    }
    return text +
           ":                   any command by its name\n"
           "PgUp PgDn           move by a screen\n"
           "\n"
           "A cell with * changed with the last set. Underlined cells are the inputs of\n"
           "the number of the last dive.\n";
}

}  // namespace app
