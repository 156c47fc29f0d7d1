#include "app/reference/reference.hpp"
#include "app/stepper/step_commands.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/version.hpp"

namespace app {
namespace {

/// Escapes text for roff: no accidental escapes, no requests at the beginning of a line.
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

/// Formats a paragraph in readable lines, which roff refills. Each sentence begins a line, so that
/// roff can add space between sentences.
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

/// Formats an entry of a list: its name, already escaped, and its description.
std::string item(const std::string& name, const std::string& text) {
    return ".TP\n" + name + "\n" + paragraph(text);
}

std::string flag_item(const Flag& flag) {
    std::string names = attn::joined(collected(flag.names(), flag.is_positional() ? italic : bold));
    if (!flag.is_positional() && flag.takes_value()) {
        names +=
            flag.value_is_optional ? "[=" + italic(flag.value) + "]" : " " + italic(flag.value);
    }
    return item(names, flag.whole_help() + (flag.repeats ? ". May be given more than once." : "."));
}

std::string options(const Command& command) {
    std::string text = ".SH OPTIONS\n";
    for (const Flag* positional : positionals_of(command)) text += flag_item(*positional);
    for (const std::string& group : groups_of(command)) {
        text += ".SS " + roff(group) + "\n";
        for (const Flag* flag : own_flags_of(command)) {
            if (flag->group == group) text += flag_item(*flag);
        }
    }
    const std::string others = about_other_flags(command);
    return others.empty() ? text : text + ".PP\n" + paragraph(others);
}

std::string synopsis(const Command& command) {
    std::string text = ".SH SYNOPSIS\n" + bold("attn-explain");
    if (!command.name.empty()) text += " " + bold(command.name);
    for (const Flag* positional : positionals_of(command)) {
        text += " " + italic(placeholder(*positional));
    }
    text += " [" + italic("OPTION") + "]...\n";
    if (!command.name.empty()) return text;
    return text + ".br\n" + bold("attn-explain") + " " + italic("COMMAND") + " [" +
           italic("OPTION") + "]...\n";
}

std::string description(const Command& command) {
    if (command.name.empty()) {
        return ".SH DESCRIPTION\n" +
               paragraph(
                   "Computes attention, the heart of every transformer, step by step, and prints "
                   "every tensor exactly as PyTorch and NumPy print them. Without flags "
                   "it computes attention over the default sentence with a small model. The "
                   "numbers depend only on the flags and the seed.");
    }
    std::string does = command.help;
    does.front() = static_cast<char>(does.front() - 'a' + 'A');
    return ".SH DESCRIPTION\n" + paragraph(does + ".");
}

/// Lists the commands of the program, or of the stepper.
std::string command_list(const Command& command) {
    std::string text = ".SH COMMANDS\n";
    if (command.name.empty()) {
        for (const Command& other : commands()) {
            if (!other.name.empty()) text += item(bold(other.name), other.help + ".");
        }
        return text;
    }
    if (command.name != "step") return {};
    text += paragraph("By key on the screen, by name after a colon or in a script.");
    for (const StepCommand& each : step_commands()) {
        std::string name = bold(each.name);
        if (!each.arguments.empty()) name += " " + italic(each.arguments);
        if (!each.keys.empty()) name += "  (" + roff(each.keys) + ")";
        text += item(name, (each.help.empty() ? "the same in its direction" : each.help) + ".");
    }
    return text;
}

std::string exit_status(const Command& command) {
    std::string text = ".SH EXIT STATUS\n" + item(bold("0"), "All is well.") +
                       item(bold("1"), "There is a finding, such as a difference or a pitfall.") +
                       item(bold("2"),
                            "An error: in the flags, the data, or a file that cannot be read or "
                            "written; one line on standard error gives the remedy.");
    if (command.name == "diagnose") {
        text += item(bold("3"), "A difference that no known mistake explains.");
    }
    return text;
}

std::string environment(const Command& command) {
    std::string text = ".SH ENVIRONMENT\n" +
                       item(bold("PAGER"),
                            "The pager for output longer than the screen of a terminal (default: "
                            "less). If it is empty or cat, or if TERM is dumb, there is none.");
    for (const Flag* flag : flags_of(command)) {
        if (!flag->is(flags::color)) continue;
        text += item(bold("NO_COLOR") + ", " + bold("FORCE_COLOR"),
                     "Disable or force colours, unless --color is given.") +
                item(bold("COLORTERM"), "With truecolor or 24bit, colours are not rounded to 256.");
    }
    return text;
}

std::string examples_of(const Command& command) {
    if (command.examples.empty()) return {};
    std::string text = ".SH EXAMPLES\n";
    for (const Example& example : command.examples) {
        if (&example != &command.examples.front()) text += ".PP\n";
        text +=
            paragraph(example.words) + ".PP\n.RS 4\n.EX\n" + bold(example.line) + "\n.EE\n.RE\n";
    }
    return text;
}

std::string see_also(const Command& command) {
    std::string others;
    for (const Command& other : commands()) {
        if (other.name == command.name) continue;
        others += (others.empty() ? "" : ",\n") + (".BR " + roff(man_page_name(other))) + " (1)";
    }
    return ".SH SEE ALSO\n" + others + "\n";
}

}  // namespace

std::string man_page_name(const Command& command) {
    return command.name.empty() ? "attn-explain" : "attn-explain-" + command.name;
}

std::string man_page(const Command& command) {
    const std::string name = man_page_name(command);
    // No date: the same sources must give the same page on every day.
    return ".\\\" Generated from the program's own flags.\n.TH " + roff(upper(name)) +
           " 1 \"\" \"attn-explain " + std::string(attn::version()) +
           "\" \"User Commands\"\n.SH NAME\n" + roff(name) + " \\- " + roff(command.help) + "\n" +
           synopsis(command) + description(command) + command_list(command) + options(command) +
           exit_status(command) + environment(command) + examples_of(command) + see_also(command);
}

}  // namespace app
