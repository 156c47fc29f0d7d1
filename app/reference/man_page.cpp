#include <map>

#include "app/reference/description.hpp"
#include "app/stepper/step_commands.hpp"
#include "attn/text/width.hpp"
#include "attn/version.hpp"

namespace reference {
namespace {

struct Example {
    std::string line;
    std::string words;
};

// What no description of a flag can say. A test runs the lines.
const std::map<std::string, std::vector<Example>>& examples() {
    static const std::map<std::string, std::vector<Example>> all{
        {"",
         {{"attn-explain", "Walks over a sentence with one small head."},
          {"attn-explain --text 'the cat sat' --heads 2 --mask causal --output-projection",
           "Your words, two heads, nobody looks ahead."},
          {"attn-explain --batch 2 --seq-len 4 --embed-dim 8 --format json",
           "Drawn numbers, every tensor and setting as JSON."},
          {"attn-explain --only 'weights[0,:],context' --precision 6",
           "One row of the weights and the context, with six decimals."}}},
        {"notebook",
         {{"attn-explain notebook", "Lists the notebooks."},
          {"attn-explain notebook 000 --corrected",
           "One of them, with its mistakes and corrected."}}},
        {"step",
         {{"attn-explain step --heads 4", "Steps through four heads; ? tells the keys."},
          {"printf 'goto weights\\nmost\\nwhy\\n' | attn-explain step",
           "The same by name, one command a line."}}},
        {"why",
         {{"attn-explain why 'weights[short,eat]' --depth 2",
           "One weight, and in turn the numbers it was made of."},
          {"attn-explain why 'weights[0,1]' --what-if mask=causal",
           "What the row would be under another mask."}}},
        {"lint",
         {{"attn-explain lint --heads 2 --embed-dim 8 --strict",
           "The pitfalls of a configuration, warnings as findings."}}},
        {"compare",
         {{"attn-explain compare loop vectorized", "Where the twins round differently."},
          {"attn-explain compare '--scale none' '--scale head-dim'",
           "Two settings, step by step."}}},
        {"diagnose",
         {{"attn-explain diagnose mine.npz --given probe.npz --heads 2 --bias "
           "--output-projection --output-bias --mask causal,padding --lengths 5,3,5",
           "Names the mistake in what your code made of a probe."}}},
        {"probe", {{"attn-explain probe -o probe.npz", "Writes inputs for your own code."}}},
        {"bugs", {{"attn-explain bugs", "Lists the catalogued mistakes."}}},
        {"bench", {{"attn-explain bench --seq-len 256", "Times the variants at one length."}}},
    };
    return all;
}

/// Text as roff reads it: no escapes by accident, no request at the beginning of a line.
std::string roff(std::string_view text) {
    std::string result;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\'')) result += "\\&";
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else if (c == '\'') {
            result += "\\(aq";
        } else {
            result += c;
        }
        line_begins = c == '\n';
    }
    return result;
}

/// A paragraph in lines that people can read, and that roff fills as it likes. Each sentence begins
/// a line, so that roff sees where it may put more space.
std::string paragraph(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t stop = text.find(". ");
        const std::size_t end = stop == std::string_view::npos ? text.size() : stop + 1;
        for (const std::string& line : attn::wrap(text.substr(0, end), 72)) {
            result += roff(line) + "\n";
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return text;
}

std::string page_name(const CommandDescription& command) {
    return command.name.empty() ? "attn-explain" : "attn-explain-" + command.name;
}

/// An entry of a list: its name, ready for roff, and what is to be said of it.
std::string item(const std::string& name, const std::string& text) {
    return ".TP\n" + name + "\n" + paragraph(text);
}

std::string flag_entry(const Flag& flag) {
    std::string names;
    for (const std::string& name : flag.names) names += (names.empty() ? "" : ", ") + bold(name);
    if (flag.names.empty())
        names = italic(flag.value);
    else if (!flag.value.empty())
        names += " " + italic(flag.value);
    return item(names, flag.help + (flag.repeats ? ". May be given more than once." : "."));
}

std::string options(const CommandDescription& command) {
    std::vector<std::string> groups;
    for (const Flag& flag : command.flags) {
        bool known = false;
        for (const std::string& group : groups) known = known || group == flag.group;
        if (!known) groups.push_back(flag.group);
    }
    std::string text = ".SH OPTIONS\n";
    for (const Flag& positional : command.positionals) text += flag_entry(positional);
    for (const std::string& group : groups) {
        text += ".SS " + roff(group) + "\n";
        for (const Flag& flag : command.flags) {
            if (flag.group == group) text += flag_entry(flag);
        }
    }
    return text;
}

std::string synopsis(const CommandDescription& command) {
    std::string text = ".SH SYNOPSIS\n" + bold("attn-explain");
    if (!command.name.empty()) text += " " + bold(command.name);
    for (const Flag& positional : command.positionals) {
        const std::string shown = italic(positional.value);
        text += positional.required ? " " + shown : " [" + shown + "]";
    }
    text += " [" + italic("OPTION") + "]...\n";
    if (!command.name.empty()) return text;
    return text + ".br\n" + bold("attn-explain") + " " + italic("COMMAND") + " [" +
           italic("OPTION") + "]...\n";
}

std::string description(const CommandDescription& command) {
    if (command.name.empty()) {
        return ".SH DESCRIPTION\n" +
               paragraph(
                   "Computes attention, the heart of every transformer, step by step, and prints "
                   "every tensor on the way exactly as PyTorch and NumPy print them. Without flags "
                   "it walks over a sentence with a small model. The numbers depend on nothing but "
                   "the flags and the seed.");
    }
    std::string does = command.help;
    does.front() = static_cast<char>(does.front() - 'a' + 'A');
    return ".SH DESCRIPTION\n" + paragraph(does + ".");
}

/// The commands of the program, or of the stepper.
std::string command_list(const std::vector<CommandDescription>& commands,
                         const CommandDescription& command) {
    std::string text = ".SH COMMANDS\n";
    if (command.name.empty()) {
        for (const CommandDescription& other : commands) {
            if (!other.name.empty()) text += item(bold(other.name), other.help + ".");
        }
        return text;
    }
    if (command.name != "step") return {};
    text += paragraph("By key on the screen, by name after a colon or in a script.");
    for (const app::StepCommand& each : app::step_commands()) {
        std::string name = bold(each.name);
        if (!each.arguments.empty()) name += " " + italic(each.arguments);
        if (!each.keys.empty()) name += "  (" + roff(each.keys) + ")";
        text += item(name, (each.help.empty() ? "the same in its direction" : each.help) + ".");
    }
    return text;
}

std::string exit_status(const CommandDescription& command) {
    std::string text =
        ".SH EXIT STATUS\n" + item(bold("0"), "All is well.") +
        item(bold("1"), "There is a finding, such as a difference or a pitfall.") +
        item(bold("2"),
             "Trouble: the flags, the data, or a file that cannot be read or written; one line on "
             "standard error says what to do.");
    if (command.name == "diagnose") {
        text += item(bold("3"), "A difference that no known mistake explains.");
    }
    return text;
}

std::string environment(const CommandDescription& command) {
    std::string text =
        ".SH ENVIRONMENT\n" +
        item(bold("PAGER"),
             "The program that output longer than the screen of a terminal goes through; less "
             "where it is not set. Empty or cat, or with TERM=dumb, there is none.");
    for (const Flag& flag : command.flags) {
        if (flag.names.back() != "--color") continue;
        text += item(bold("NO_COLOR") + ", " + bold("FORCE_COLOR"),
                     "Forbid colours, or ask for them, where --color does not say.") +
                item(bold("COLORTERM"), "With truecolor or 24bit, colours are not rounded to 256.");
    }
    return text;
}

std::string examples_of(const CommandDescription& command) {
    const auto found = examples().find(command.name);
    if (found == examples().end()) return {};
    std::string text = ".SH EXAMPLES\n";
    for (const Example& example : found->second) {
        if (&example != &found->second.front()) text += ".PP\n";
        text +=
            paragraph(example.words) + ".PP\n.RS 4\n.EX\n" + bold(example.line) + "\n.EE\n.RE\n";
    }
    return text;
}

std::string see_also(const std::vector<CommandDescription>& commands,
                     const CommandDescription& command) {
    std::string others;
    for (const CommandDescription& other : commands) {
        if (other.name == command.name) continue;
        others += (others.empty() ? "" : ",\n") + (".BR " + roff(page_name(other))) + " (1)";
    }
    return ".SH SEE ALSO\n" + others + "\n";
}

}  // namespace

std::string man_page(const std::vector<CommandDescription>& commands,
                     const CommandDescription& command) {
    const std::string name = page_name(command);
    // No date: the same sources make the same page on every day.
    return ".\\\" Made from the program's own flags.\n.TH " + roff(upper(name)) +
           " 1 \"\" \"attn-explain " + std::string(attn::version()) +
           "\" \"User Commands\"\n.SH NAME\n" + roff(name) + " \\- " + roff(command.help) + "\n" +
           synopsis(command) + description(command) + command_list(commands, command) +
           options(command) + exit_status(command) + environment(command) + examples_of(command) +
           see_also(commands, command);
}

}  // namespace reference
