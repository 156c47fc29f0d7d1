#include "app/stepper/step_commands.hpp"

#include <algorithm>
#include <limits>

#include "app/flags/parse.hpp"
#include "attn/text/closest.hpp"

namespace app {
namespace {

using Shows = Reply::Shows;

constexpr std::ptrdiff_t all_the_way = std::numeric_limits<std::ptrdiff_t>::max() / 2;

/// A count after a command's name; 1 without one.
std::ptrdiff_t count_of(const std::string& name, const std::string& text) {
    if (text.empty()) return 1;
    const std::int64_t count = parse_integer(name, text);
    if (count < 1) throw attn::ConfigError(name + " takes a number from 1 on, not " + text);
    return count;
}

std::optional<std::int64_t> index_of(const std::string& name, const std::string& text) {
    if (text.empty()) return std::nullopt;
    return parse_integer(name, text);
}

const std::string& needed(const std::string& arguments, const std::string& example) {
    if (arguments.empty()) throw attn::ConfigError("say more: " + example);
    return arguments;
}

/// A command whose function returns nothing, and what it leaves to be shown.
template <auto function, Shows shows>
Reply plain(Session& session, const std::string&) {
    (session.*function)();
    return {shows};
}

/// Goes on, or says that there is nothing further.
Reply next_step(Session& session, std::ptrdiff_t count) {
    const std::size_t before = session.step();
    session.next(count);
    if (session.step() != before) return {Shows::step};
    return {Shows::text, count > 0 ? "this is the last step\n" : "this is the first step\n"};
}

std::vector<StepCommand> moving_commands() {
    return {
        {"next",
         "[N]",
         "the next step",
         {"n", "Shift-Right"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             return next_step(s, count_of("next", a));
         }},
        {"previous",
         "[N]",
         "the step before",
         {"p", "Shift-Left"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             return next_step(s, -count_of("previous", a));
         }},
        {"goto",
         "STEP",
         "a step by its name or number",
         {"g"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.go_to(needed(a, "goto weights"));
             return {Shows::step};
         }},
        {"search",
         "TEXT",
         "the next step that speaks of it",
         {"/"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.search(needed(a, "search softmax"));
             return {Shows::step};
         }},
        {"list",
         "",
         "the steps with their shapes",
         {},
         {},
         [](Session& s, const std::string&) -> Reply {
             return {Shows::text, s.list_text()};
         }},
        {"left",
         "[N]",
         "move the cell",
         {"h", "Left"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.move(0, -count_of("left", a));
             return {Shows::cell};
         }},
        {"down",
         "[N]",
         "",
         {"j", "Down"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.move(count_of("down", a), 0);
             return {Shows::cell};
         }},
        {"up",
         "[N]",
         "",
         {"k", "Up"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.move(-count_of("up", a), 0);
             return {Shows::cell};
         }},
        {"right",
         "[N]",
         "",
         {"l", "Right"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.move(0, count_of("right", a));
             return {Shows::cell};
         }},
        {"first",
         "",
         "the first cell of the row",
         {"Home", "0"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.move(0, -all_the_way);
             return {Shows::cell};
         }},
        {"last",
         "",
         "the last cell of the row",
         {"End", "$"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.move(0, all_the_way);
             return {Shows::cell};
         }},
        {"most",
         "",
         "the largest number of the row",
         {"m"},
         {},
         plain<&Session::go_to_most, Shows::cell>},
        {"cell",
         "I,J,...",
         "a cell by numbers or words: cell 0,short,eat",
         {},
         {},
         [](Session& s, const std::string& a) -> Reply {
             if (!a.empty()) s.go_to_cell(a);
             return {Shows::cell};
         }},
        {"page",
         "",
         "the next head",
         {"Tab"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.turn_page(true);
             return {Shows::cell};
         }},
        {"page-back",
         "",
         "the head before",
         {"Shift-Tab"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.turn_page(false);
             return {Shows::cell};
         }},
        {"head",
         "[N]",
         "head number N; the next one",
         {},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.turn("head", index_of("head", a));
             return {Shows::cell};
         }},
        {"batch",
         "[N]",
         "sequence number N; the next one",
         {"b"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.turn("batch", index_of("batch", a));
             return {Shows::cell};
         }},
    };
}

std::vector<StepCommand> asking_commands() {
    return {
        {"why",
         "[DEPTH]",
         "where the number comes from, all of it",
         {"w"},
         {},
         [](Session& s, const std::string& a) -> Reply {
             const std::ptrdiff_t depth = count_of("why", a);
             if (depth > 20) throw attn::ConfigError("why goes 20 levels deep at most");
             return {Shows::text, s.why(static_cast<std::size_t>(depth), 12)};
         }},
        {"dive",
         "",
         "go to the cell that the number came from",
         {"Enter"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.dive();
             return {Shows::cell, s.trail_line()};
         }},
        {"other",
         "",
         "go to the other cell that it came from",
         {"x"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.other_source();
             return {Shows::cell, s.trail_line()};
         }},
        {"back", "", "return from a dive", {"Backspace"}, {}, plain<&Session::back, Shows::cell>},
    };
}

std::vector<StepCommand> changing_commands() {
    return {
        {"set",
         "NAME=VALUE",
         "walk again with it, mark what changed: set mask=causal",
         {},
         {},
         [](Session& s, const std::string& a) -> Reply {
             return {Shows::text, s.set(a) + "\n"};
         }},
        {"undo",
         "",
         "take the last set back",
         {"u"},
         {},
         [](Session& s, const std::string&) -> Reply {
             return {Shows::text, s.undo() + "\n"};
         }},
        {"only",
         "[STEPS]",
         "keep steps or parts: only weights[0],x; alone: all again",
         {},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.only(a);
             return {Shows::step};
         }},
        {"detail",
         "",
         "show or hide parameters and the parts of softmax",
         {"d"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.toggle_detail();
             return {Shows::text, s.list_text()};
         }},
        {"precision",
         "N",
         "decimals of the numbers",
         {},
         {},
         [](Session& s, const std::string& a) -> Reply {
             s.set_precision(parse_integer("precision", needed(a, "precision 6")));
             return {Shows::step};
         }},
        {"more-digits",
         "",
         "one decimal more",
         {"+", "="},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.set_precision(s.precision() + 1);
             return {Shows::step};
         }},
        {"fewer-digits",
         "",
         "one decimal less",
         {"-"},
         {},
         [](Session& s, const std::string&) -> Reply {
             s.set_precision(s.precision() - 1);
             return {Shows::step};
         }},
        {"print",
         "",
         "the step as the walk prints it",
         {"t"},
         {},
         [](Session&, const std::string&) -> Reply { return {Shows::step}; }},
        {"write",
         "FILE",
         "write the step to a .npy, .npz, .csv, .json, .md or .txt",
         {},
         {"w"},
         [](Session& s, const std::string& a) -> Reply {
             s.write(needed(a, "write weights.npy"));
             return {Shows::text, "wrote " + a + "\n"};
         }},
        {"help",
         "",
         "this page",
         {"?", "F1"},
         {"?"},
         [](Session&, const std::string&) -> Reply {
             return {Shows::text, step_help()};
         }},
        {"quit",
         "",
         "end",
         {"q"},
         {"exit"},
         [](Session&, const std::string&) -> Reply { return {Shows::end}; }},
    };
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

const StepCommand& find_command(const std::string& name) {
    const StepCommand* found = nullptr;
    bool several = false;
    std::vector<std::string> names;
    for (const StepCommand& command : step_commands()) {
        const auto& aliases = command.aliases;
        if (command.name == name ||
            std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
            return command;
        }
        if (command.name.starts_with(name)) {
            several = found != nullptr;
            if (found == nullptr) found = &command;
        }
        names.push_back(command.name);
    }
    if (found != nullptr && !several) return *found;
    const std::string meant = attn::closest(name, names);
    throw attn::ConfigError(
        (several ? "several commands begin with '" : "there is no command '") + name + "'" +
        (meant.empty() ? ": help lists them" : "; did you mean " + meant + "?"));
}

}  // namespace

const std::vector<StepCommand>& step_commands() {
    static const std::vector<StepCommand> all = [] {
        std::vector<StepCommand> commands = moving_commands();
        for (auto part : {asking_commands(), changing_commands()}) {
            commands.insert(commands.end(), part.begin(), part.end());
        }
        return commands;
    }();
    return all;
}

Reply perform(Session& session, const std::string& line) {
    const std::string text = trimmed(line);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const StepCommand& command = find_command(text.substr(0, end));
    const std::string arguments = trimmed(text.substr(end));
    if (!arguments.empty() && command.arguments.empty()) {
        throw attn::ConfigError(command.name + " stands alone: leave '" + arguments + "' out");
    }
    return command.run(session, arguments);
}

std::string step_help() {
    std::string text =
        "Each step of attention makes one tensor out of those before it. n and p go\n"
        "from step to step, the arrows move the cell, and the lower box says where its\n"
        "number comes from. At the edge of a tensor Right and Left go on to the next\n"
        "step and the one before.\n"
        "\n"
        "Which word does 'short' attend to most in head 2, and why?\n"
        "  g weights Enter   go to the attention weights: a row asks, columns answer\n"
        "  Tab               turn to head 2; heads count from 0\n"
        "  j or Down         move to the row of 'short'\n"
        "  m                 go to the largest of the row: its column is the word\n"
        "  Enter             dive into its score; again: into the query and key behind it\n"
        "  Backspace         return\n"
        "\n"
        "key             command          what it does\n";
    for (const StepCommand& command : step_commands()) {
        std::string keys;
        for (const std::string& key : command.keys) keys += (keys.empty() ? "" : " ") + key;
        std::string name = ":" + command.name;
        if (!command.arguments.empty()) name += " " + command.arguments;
        keys.resize(std::max<std::size_t>(keys.size() + 1, 16), ' ');
        name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
        text += keys + name + command.help;
        text.erase(text.find_last_not_of(' ') + 1);
        text += "\n";
    }
    return text +
           ":               any command by its name; PgUp and PgDn move by a screen\n"
           "\n"
           "Cells marked * changed with the last set. A cell that a dive came from is "
           "underlined.\n";
}

}  // namespace app
