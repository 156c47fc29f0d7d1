#include "app/commands/walk.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/lint/lint.hpp"

namespace app {
namespace {

bool is_worth_linting(const attn::Plan& plan, const attn::Ledger& ledger) {
    constexpr double small = 5e7;
    if (plan.fused() || attn::memory_needs(plan).bytes > small) return false;
    return std::ranges::any_of(attn::lint(plan, ledger), [](const attn::LintFinding& finding) {
        return finding.rule->severity != attn::Severity::info;
    });
}

/// Returns the largest weight below 1 in the last row that has one; empty if there is none.
std::string weight_to_derive(const attn::Ledger& ledger) {
    const attn::Tensor* weights = ledger.find("weights");
    if (weights == nullptr || weights->size() == 0) return {};
    const std::size_t width = weights->shape().back();
    for (std::size_t end = weights->size(); end > 0; end -= width) {
        std::size_t best = end - width;
        for (std::size_t i = best; i < end; ++i) {
            if (weights->at(i) > weights->at(best)) best = i;
        }
        if (!(weights->at(best) > 0 && weights->at(best) < 1)) continue;
        return "weights" + attn::index_text(attn::indices_of(best, weights->shape()));
    }
    return {};
}

/// True if standard input is a pipe or a file with bytes that nothing has read.
bool has_unread_input() {
    struct stat status {};
    int bytes = 0;
    if (::fstat(STDIN_FILENO, &status) != 0 || S_ISCHR(status.st_mode)) return false;
    return ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

/// True if only these flags, and those of the output, change the walk.
bool has_only(const std::vector<Name>& names, Arguments arguments) {
    arguments.forget_any(names);
    return command_line("", arguments) == "attn-explain";
}

/// Lists the words of the first sequence with their positions.
std::string positions_of(const attn::Plan& plan) {
    constexpr std::size_t most = 12;
    const auto* tokens = std::get_if<attn::Tokens>(&plan.config.input);
    if (tokens == nullptr) {
        return "--seq-len and --batch draw random vectors in place of words.";
    }
    const std::vector<std::string>& words = plan.query_tokens.front();
    std::string text = plan.batch == 1 ? "Words" : "Words of the first sentence";
    text += " and positions:";
    for (std::size_t i = 0; i < words.size() && i < most; ++i) {
        text += (i > 0 ? ", " : " ") + words[i] + " " + std::to_string(i);
    }
    return text + (words.size() > most ? ", ..." : ".");
}

}  // namespace

std::vector<attn::Prose> opening_of(const Arguments& arguments, const attn::Plan& plan) {
    using attn::counted;
    const std::vector<Name> input{flags::texts, flags::text_file, flags::batch, flags::seq_len};
    const bool is_first = has_only({flags::format}, arguments) ||
                          (takes_hints(arguments) && has_only(input, arguments));
    if (!is_first || format_of(arguments).printed == nullptr) return {};
    const std::string heads = counted(plan.heads, "head") + " with " +
                              counted(plan.head_dim, "feature") + (plan.heads > 1 ? " each" : "");
    return {positions_of(plan),
            (plan.batch > 1 ? counted(plan.batch, "sequence") + " of " : "") +
                counted(plan.query_len, "token") + " with " + counted(plan.embed_dim, "feature") +
                " each, " + heads + ".",
            "All vectors and matrices are drawn at random with seed " +
                std::to_string(plan.config.seed) +
                ": the weights mean nothing yet. Try attn-explain --example adjective for a "
                "head that means something.",
            std::string("In formulas: ") + (plan.batch > 1 ? "b sequence, " : "") +
                (plan.has_head ? "h head, " : "") +
                "t token, q query, k key; c feature of x, f feature of a head.",
            "Less: -q, --only weights. More: --detail. Words: attn-explain help softmax."};
}

void note_unread_input(const Arguments& arguments) {
    const bool has_source = arguments.has(sets_x) || arguments.has(flags::model_file);
    if (has_source || KeptOutput::is_kept() || !has_unread_input()) return;
    report_note("standard input is not read: pass --text-file - to attend over it");
}

std::string next_command(const Arguments& arguments, const attn::Plan& plan,
                         const attn::Ledger& ledger) {
    // A newcomer's first walk.
    if (arguments.specified().empty()) return "attn-explain tour  # and then: attn-explain quiz";
    const std::vector<std::string> bugs = arguments[flags::bugs];
    if (!bugs.empty()) return "attn-explain bugs " + bugs.front();
    const auto flags_of = [&](const char* command) {
        return arguments.narrowed_to(find_command(command)->tables);
    };
    if (is_worth_linting(plan, ledger)) return command_line("lint", flags_of("lint"));
    const std::string cell = weight_to_derive(ledger);
    if (cell.empty()) return command_line("step", flags_of("step"));
    Arguments why = flags_of("why");
    why.set(flags::cell, cell);
    return command_line("why", why);
}

}  // namespace app
