#include "app/stepper/step_commands.hpp"

#include <algorithm>
#include <limits>

#include "app/flags/parse.hpp"
#include "attn/text/strings.hpp"

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
    if (arguments.empty()) throw attn::ConfigError("something is missing, as in: " + example);
    return arguments;
}

/// Goes on, or says that there is nothing further.
Reply next_step(Session& session, std::ptrdiff_t count) {
    const std::size_t before = session.step();
    session.next(count);
    if (session.step() != before) return {Shows::step};
    return {Shows::message, count > 0 ? "this is the last step\n" : "this is the first step\n"};
}

Reply moved(Session& session, std::ptrdiff_t rows, std::ptrdiff_t columns) {
    session.move(rows, columns);
    return {Shows::cell};
}

// One function for each command, in the order of the table below.

Reply next(Session& s, const std::string& count) { return next_step(s, count_of("next", count)); }
Reply previous(Session& s, const std::string& count) {
    return next_step(s, -count_of("previous", count));
}
Reply go_to(Session& s, const std::string& step) {
    s.go_to(needed(step, "goto weights"));
    return {Shows::step};
}
Reply search(Session& s, const std::string& text) {
    s.search(needed(text, "search softmax"));
    return {Shows::step};
}
Reply list(Session& s, const std::string&) { return {Shows::page, s.list_text()}; }

Reply left(Session& s, const std::string& count) { return moved(s, 0, -count_of("left", count)); }
Reply down(Session& s, const std::string& count) { return moved(s, count_of("down", count), 0); }
Reply up(Session& s, const std::string& count) { return moved(s, -count_of("up", count), 0); }
Reply right(Session& s, const std::string& count) { return moved(s, 0, count_of("right", count)); }
Reply first(Session& s, const std::string&) { return moved(s, 0, -all_the_way); }
Reply last(Session& s, const std::string&) { return moved(s, 0, all_the_way); }
Reply most(Session& s, const std::string&) {
    s.go_to_most();
    return {Shows::cell};
}
Reply cell(Session& s, const std::string& indices) {
    if (!indices.empty()) s.go_to_cell(indices);
    return {Shows::cell};
}

Reply page(Session& s, const std::string&) {
    s.turn_page(true);
    return {Shows::cell};
}
Reply page_back(Session& s, const std::string&) {
    s.turn_page(false);
    return {Shows::cell};
}
Reply head(Session& s, const std::string& number) {
    s.turn("head", index_of("head", number));
    return {Shows::cell};
}
Reply batch(Session& s, const std::string& number) {
    s.turn("batch", index_of("batch", number));
    return {Shows::cell};
}

Reply why(Session& s, const std::string& depth) {
    const std::ptrdiff_t levels = count_of("why", depth);
    if (levels > 20) throw attn::ConfigError("why goes at most 20 levels deep");
    return {Shows::page, s.why(static_cast<std::size_t>(levels), 12)};
}
Reply dive(Session& s, const std::string&) {
    s.dive();
    return {Shows::cell, s.trail_line()};
}
Reply other(Session& s, const std::string&) {
    s.other_source();
    return {Shows::cell, s.trail_line()};
}
Reply back(Session& s, const std::string&) {
    s.back();
    return {Shows::cell};
}

Reply gradient(Session& s, const std::string&) {
    s.go_to_gradient();
    return {Shows::step};
}

Reply set(Session& s, const std::string& settings) {
    return {Shows::message, s.set(settings) + "\n"};
}
Reply undo(Session& s, const std::string&) { return {Shows::message, s.undo() + "\n"}; }
Reply only(Session& s, const std::string& steps) {
    s.only(steps);
    return {Shows::step};
}
Reply detail(Session& s, const std::string&) {
    s.toggle_detail();
    return {Shows::page, s.list_text()};
}
Reply precision(Session& s, const std::string& decimals) {
    s.set_precision(parse_integer("precision", needed(decimals, "precision 6")));
    return {Shows::step};
}
Reply more_digits(Session& s, const std::string&) {
    s.set_precision(s.precision() + 1);
    return {Shows::step};
}
Reply fewer_digits(Session& s, const std::string&) {
    s.set_precision(s.precision() - 1);
    return {Shows::step};
}

Reply print(Session& s, const std::string&) { return {Shows::page, s.step_text()}; }
Reply write(Session& s, const std::string& path) {
    s.write(needed(path, "write weights.npy"));
    return {Shows::message, "wrote " + attn::visible(path) + "\n"};
}
Reply help(Session&, const std::string&) { return {Shows::page, step_help()}; }
Reply quit(Session&, const std::string&) { return {Shows::end}; }

/// `w` writes, as in an editor; `why` can be written out.
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
    static const std::vector<StepCommand> all{
        {"next", "[N]", "n Space Shift-Right", "the next step", next},
        {"previous", "[N]", "p Shift-Left", "the step before", previous},
        {"goto", "STEP", "g", "a step by its name or number", go_to},
        {"search", "TEXT", "/", "the next step whose words contain TEXT", search},
        {"list", "", "", "the steps with their shapes", list},
        {"left", "[N]", "h Left", "move the cell", left},
        {"down", "[N]", "j Down", "", down},
        {"up", "[N]", "k Up", "", up},
        {"right", "[N]", "l Right", "", right},
        {"first", "", "Home 0", "the first cell of the row", first},
        {"last", "", "End $", "the last cell of the row", last},
        {"most", "", "m", "the largest number of the row", most},
        {"cell", "I,J,...", "", "a cell by numbers or words: cell 0,short,eat", cell},
        {"page", "", "Tab", "the next head", page},
        {"page-back", "", "Shift-Tab", "the head before", page_back},
        {"head", "[N]", "", "head number N; the next one", head},
        {"batch", "[N]", "B", "sequence number N; the next one", batch},
        {"why", "[DEPTH]", "w", "where the number comes from, all of it", why},
        {"dive", "", "Enter", "go to the cell that the number came from", dive},
        {"other", "", "x", "go to the other cell that it came from", other},
        {"back", "", "Backspace", "return from a dive", back},
        {"gradient", "", "b", "to the gradient of this step, with --backward, and back to it",
         gradient},
        {"set", "NAME=VALUE", "", "walk again with it, mark what changed: set mask=causal", set},
        {"undo", "", "u", "take the last set back", undo},
        {"only", "[STEPS]", "", "keep steps or parts: only weights[0],x; alone: all again", only},
        {"detail", "", "d", "show or hide parameters and the parts of softmax", detail},
        {"precision", "N", "", "decimals of the numbers", precision},
        {"more-digits", "", "+ =", "one decimal more", more_digits},
        {"fewer-digits", "", "-", "one decimal less", fewer_digits},
        {"print", "", "t", "the step as the walk prints it", print},
        {"write", "FILE", "", "write the step, as the ending says: weights.npy, .csv, .svg", write},
        {"help", "", "? F1", "this page", help},
        {"quit", "", "q", "end", quit},
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
           "A cell with * changed with the last set. Underlined cells are those that the\n"
           "number of the last dive was made of.\n";
}

}  // namespace app
