#include "attn/judge/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/models/runtime.hpp"

namespace app {
namespace {

/// One side: a walk, or the steps in a file.
struct Side {
    attn::Ledger ledger;
    Arguments arguments;
    std::optional<attn::Plan> plan{};
};

Side walked(const Arguments& arguments) {
    auto [plan, table, ledger] = walk_of(arguments);
    return {std::move(ledger), arguments, std::move(plan)};
}

Side side_of(const std::string& what, const Arguments& base) {
    const std::vector<std::string> variants = words_of<attn::Variant>();
    std::vector<std::string> words = shell_words(what);
    const std::string first = words.empty() ? "" : words.front();
    const bool is_variant = std::ranges::find(variants, first) != variants.end();
    if (is_variant) words.insert(words.begin(), "--variant");
    if (is_variant || first.empty() || first.starts_with("--")) {
        return walked(with_flags(base, words));
    }
    const std::string meant =
        base.find("--" + first) != nullptr ? "'--" + what + "'" : attn::closest(first, variants);
    if (!std::filesystem::exists(what) && !(meant.empty() && names_a_file(what))) {
        throw attn::ConfigError("'" + what + "' is neither a run nor a file: " +
                                (meant.empty() ? "give loop, vectorized, fused, flags in one word "
                                                 "('--scale none'), or the path of a file"
                                               : "did you mean " + meant + "?"));
    }
    return {read_ledger(what), base};
}

/// Reports the flags that change neither side.
void note_useless(const Arguments& arguments, const Side& left, const Side& right) {
    std::vector<FlagUse> walks;
    for (const Side* side : {&left, &right}) {
        if (side->plan) walks.push_back({side->arguments, &*side->plan});
    }
    note_useless_flags(walks);
    for (const Name& flag :
         std::array<Name, 3>{flags::tokens, flags::threads, flags::check_gradient}) {
        if (left.arguments.has(flag) || right.arguments.has(flag)) {
            report_note(std::string(flag) + " has no effect here: it needs a walk that is printed");
        }
    }
    if (!walks.empty()) return;
    note_unused_flags(arguments.narrowed_to({walk_flags, bug_flags}), {},
                      "a walk, but both are files");
}

/// Compares the next word of two models after the same tokens: the likeliest of the first, and the
/// word whose probability changes most.
std::string word_lines(const Side& left, const Side& right) {
    const auto file = [](const Side& side) { return side.arguments[flags::model_file]; };
    const auto is_models_own = [](const Side& side) {
        return side.arguments.has(flags::model_file) && !side.arguments.has(flags::bugs) &&
               !side.arguments.has(flags::without);
    };
    if (!is_models_own(left) || !is_models_own(right) || file(left) == file(right)) return {};
    const attn::models::Model one = model_of(left.arguments);
    const attn::models::Model other = model_of(right.arguments);
    const TokenIds ids = prompt_of(left.arguments, one);
    if (!one.architecture.causal || !other.architecture.causal ||
        one.architecture.vocab_size != other.architecture.vocab_size ||
        prompt_of(right.arguments, other) != ids) {
        return {};
    }
    const auto next = [&ids](const attn::models::Model& model) {
        using attn::models::KeepWeights;
        attn::models::Runtime<double> runtime(
            attn::models::parameters_of<double>(model, KeepWeights::nothing));
        const attn::Array<double> logits = runtime.last_logits(runtime.advance(ids));
        return attn::models::distribution<double>({logits.data(), logits.size()});
    };
    const auto a = next(one);
    const auto b = next(other);
    std::size_t likeliest = 0, changed = 0;
    const auto distance = [&](std::size_t id) {
        return std::abs(a[id].probability - b[id].probability);
    };
    for (std::size_t id = 0; id < a.size(); ++id) {
        if (a[id].probability > a[likeliest].probability) likeliest = id;
        if (distance(id) > distance(changed)) changed = id;
    }
    const auto line = [&](const char* what, std::size_t id) {
        return fmt::format("{} after {}: {}, {:.6f} against {:.6f}\n", what,
                           quoted(one, ids.back()), quoted(one, static_cast<std::int64_t>(id)),
                           a[id].probability, b[id].probability);
    };
    return line("likeliest", likeliest) +
           (changed != likeliest ? line("changes most", changed) : std::string());
}

/// Returns the words that differ between two walks of as many tokens, or their number if they are
/// many.
std::string changed_words(const Side& left, const Side& right) {
    if (!left.plan || !right.plan) return {};
    const auto &one = left.plan->key_tokens, &other = right.plan->key_tokens;
    std::vector<std::string> lines;
    for (std::size_t b = 0; b < std::min(one.size(), other.size()); ++b) {
        if (one[b].size() != other[b].size()) return {};
        for (std::size_t t = 0; t < one[b].size(); ++t) {
            if (one[b][t] == other[b][t]) continue;
            const std::string sequence = one.size() > 1 ? fmt::format(" of sequence {}", b) : "";
            lines.push_back(fmt::format("token {}{} is {} in the first and {} in the second\n", t,
                                        sequence, attn::notes::quoted_token(one[b][t]),
                                        attn::notes::quoted_token(other[b][t])));
        }
    }
    constexpr std::size_t most = 4;
    if (lines.size() > most) return fmt::format("{} tokens differ\n", lines.size());
    return attn::joined(lines, "");
}

/// Returns the plan of a file's walk, from its shapes and names, or from the flags if these do not
/// determine it.
attn::Plan plan_of_file(const attn::Ledger& file, const Arguments& arguments) {
    try {
        return attn::resolve(requested_walk(arguments, file, {}).config);
    } catch (const attn::Error&) {
        return attn::resolve(config_of(arguments));
    }
}

int run_compare(const Arguments& arguments) {
    const std::string a = arguments[flags::a];
    const std::string b = arguments[flags::b];
    Side left = side_of(a, arguments);
    Side right = side_of(b, arguments);
    const attn::Plan plan = left.plan    ? *left.plan
                            : right.plan ? *right.plan
                                         : plan_of_file(left.ledger, arguments);
    for (Side* side : {&left, &right}) {
        if (!side->plan) side->ledger = attn::named_by_step(side->ledger, plan);
    }
    note_useless(arguments, left, right);
    const attn::Comparison comparison = attn::compare(plan, attn::step_table(plan), left.ledger,
                                                      right.ledger, tolerance_of(arguments));
    if (comparison.steps.empty()) {
        throw attn::ConfigError(a + " and " + b +
                                " have no step in common: name the arrays after the steps");
    }
    write_text_or_json(
        arguments,
        [&] {
            return changed_words(left, right) +
                   attn::comparison_text(comparison, ink_of(arguments)) + word_lines(left, right);
        },
        [&] { return attn::comparison_json(comparison); });
    return comparison.equal() ? 0 : 1;
}

std::vector<Flag> compare_flags() {
    constexpr Takes side{Takes::Kind::file, 0, 0, {}, words_of<attn::Variant>, false, true, true};
    return {
        Flag{flags::a, "A",
             "the first run or file: loop, vectorized, fused, flags in one word (\"--scale "
             "none\", \"--preset llama3\"), or a file",
             side}
            .demanded(),
        Flag{flags::b, "B", "the second run or file", side}.demanded(),
    };
}

}  // namespace

Command compare_command() {
    return {"compare",
            "compare two runs, or files, step by step",
            {table<compare_flags>, tolerance_flags, json_flags, file_flags, color_flags, bug_flags,
             config_flags, notebook_walk_flags, walk_flags},
            run_compare,
            {{"attn-explain compare loop vectorized", "Where the two methods round differently."},
             {"attn-explain compare '' '--bug scale-missing'", "What a mistake changes."},
             {"attn-explain compare '--scale none' '--scale head-dim'",
              "Two settings, step by step."}}};
}

}  // namespace app
