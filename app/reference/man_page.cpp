#include <map>

#include "app/reference/description.hpp"
#include "app/stepper/step_commands.hpp"
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
           "One of them, its mistakes mended beside it."}}},
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
std::string roff(const std::string& text) {
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

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return text;
}

std::string page_name(const CommandDescription& command) {
    return command.name.empty() ? "attn-explain" : "attn-explain-" + command.name;
}

std::string flag_entry(const Flag& flag) {
    std::string names;
    for (const std::string& name : flag.names) names += (names.empty() ? "" : ", ") + bold(name);
    if (flag.names.empty())
        names = italic(flag.value);
    else if (!flag.value.empty())
        names += " " + italic(flag.value);
    std::string text = ".TP\n" + names + "\n" + roff(flag.help) + ".\n";
    if (flag.repeats) text += "May be given more than once.\n";
    return text;
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

std::string stepping() {
    std::string text =
        ".SH COMMANDS\nBy key on the screen, by name after a colon or in a script.\n";
    for (const app::StepCommand& command : app::step_commands()) {
        text += ".TP\n" + bold(command.name);
        if (!command.arguments.empty()) text += " " + italic(command.arguments);
        if (!command.keys.empty()) text += "  (" + roff(command.keys) + ")";
        text +=
            "\n" + roff(command.help.empty() ? "the same in its direction" : command.help) + ".\n";
    }
    return text;
}

}  // namespace

std::string man_page(const std::vector<CommandDescription>& commands,
                     const CommandDescription& command) {
    const std::string name = page_name(command);
    std::string text = ".\\\" Made from the program's own flags.\n.TH " + roff(upper(name)) +
                       " 1 \"\" \"attn-explain " + std::string(attn::version()) +
                       "\" \"User Commands\"\n.SH NAME\n" + roff(name) + " \\- " +
                       roff(command.help) + "\n.SH SYNOPSIS\n" + bold("attn-explain");
    if (!command.name.empty()) text += " " + bold(command.name);
    for (const Flag& positional : command.positionals) {
        const std::string shown = italic(positional.value);
        text += positional.required ? " " + shown : " [" + shown + "]";
    }
    text += " [" + italic("OPTION") + "]...\n";
    if (command.name.empty()) {
        text += ".br\n" + bold("attn-explain") + " " + italic("COMMAND") + " [" + italic("OPTION") +
                "]...\n.SH DESCRIPTION\n" +
                roff(
                    "Computes attention, the heart of every transformer, step by step, and prints "
                    "every tensor on the way exactly as PyTorch and NumPy print them. Without "
                    "flags it walks over a sentence with a small model. The numbers depend on "
                    "nothing but the flags and the seed.") +
                "\n.SH COMMANDS\n";
        for (const CommandDescription& other : commands) {
            if (other.name.empty()) continue;
            text += ".TP\n" + bold(other.name) + "\n" + roff(other.help) + ".\n";
        }
    } else {
        std::string does = command.help;
        does.front() = static_cast<char>(does.front() - 'a' + 'A');
        text += ".SH DESCRIPTION\n" + roff(does) + ".\n";
    }
    if (command.name == "step") text += stepping();
    text += options(command);
    text +=
        ".SH EXIT STATUS\n.TP\n.B 0\nAll is well.\n.TP\n.B 1\nThere is a finding: compare, lint "
        "or diagnose found a difference or a pitfall.\n.TP\n.B 2\nTrouble: the flags, the data, "
        "or a file that cannot be read or written; one line on standard error says what to "
        "do.\n";
    if (command.name == "diagnose") {
        text += ".TP\n.B 3\nA difference that no known mistake explains.\n";
    }
    if (const auto found = examples().find(command.name); found != examples().end()) {
        text += ".SH EXAMPLES\n";
        for (const Example& example : found->second) {
            if (&example != &found->second.front()) text += ".PP\n";
            text +=
                roff(example.words) + "\n.PP\n.RS 4\n.EX\n" + bold(example.line) + "\n.EE\n.RE\n";
        }
    }
    text += ".SH SEE ALSO\n";
    std::string others;
    for (const CommandDescription& other : commands) {
        if (other.name == command.name) continue;
        others +=
            (others.empty() ? "" : ",\n") + std::string(".BR ") + roff(page_name(other)) + " (1)";
    }
    return text + others + "\n";
}

}  // namespace reference
