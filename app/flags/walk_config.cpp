#include "app/flags/walk_flags.hpp"

#include <algorithm>

#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "attn/models/without.hpp"

namespace app {
namespace {

/// Returns the non-empty lines of a file, without comments after `#`; `each` describes a line.
/// Errors  InputError for a file without any, or that is not UTF-8.
std::vector<std::string> read_lines(const std::string& path, const std::string& each,
                                    bool has_remarks) {
    constexpr std::size_t largest_text = std::size_t{1} << 26;  // larger than any real text
    attn::InputFile file(path, largest_text);
    if (file.size() > largest_text) {
        throw attn::InputError(file.label() + ": more than 64 MB of text; pass fewer sequences");
    }
    std::string text(file.all());
    std::vector<std::string> lines;
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
    for (const std::string& line : split(text, '\n')) {
        const std::string setting_text = has_remarks ? before(line, '#') : line;
        for (std::size_t at = 0; at < setting_text.size();) {
            const auto [point, bytes] =
                attn::first_point(std::string_view(setting_text).substr(at));
            if (point < 0) throw attn::InputError(file.label() + ": is not UTF-8: save it as such");
            at += bytes.size();
        }
        if (!attn::trimmed(setting_text).empty()) lines.push_back(setting_text);
    }
    if (lines.empty()) {
        throw attn::InputError(file.label() + ": has no text; write one " + each + " per line");
    }
    return lines;
}

/// Sets the padding id if --pad-id has a number.
void set_padding(const Arguments& arguments, attn::Tokens& tokens) {
    if (!arguments.has(flags::pad_id)) return;
    tokens.pad_id = parse_pad_id(flags::pad_id.text, arguments[flags::pad_id]);
}

/// Returns the name of the one flag of which that is true, or none.  Errors  ConfigError for two.
template <class Is>
std::string only_one(Is is_meant, const std::string& trouble) {
    std::string used;
    for (const Flag& flag : walk_flags()) {
        if (!is_meant(flag)) continue;
        if (!used.empty()) throw attn::ConfigError(used + " and " + flag.name + trouble);
        used = flag.name;
    }
    return used;
}

std::string only_source(const Arguments& arguments, Trait kind) {
    return only_one([&](const Flag& flag) { return flag.is(kind) && arguments.has(flag); },
                    " are two sources: leave one out");
}

/// True if a few characters request many tokens. The walk itself checks the memory of others.
bool is_large(const attn::WalkConfig& config) {
    constexpr double large = 1 << 14;
    const auto* tokens = std::get_if<attn::Tokens>(&config.input);
    const bool repeats = tokens != nullptr && config.batch && tokens->sequences.size() == 1;
    const auto given = static_cast<std::int64_t>(repeats ? tokens->sequences[0].size() : 1);
    const auto length = std::max({config.query_len.value_or(1), config.key_len.value_or(1), given});
    return static_cast<double>(config.batch.value_or(1)) * static_cast<double>(length) > large;
}

/// Splits text into tokens, with a hint for scripts without spaces between words.
attn::Tokens tokens_of(const Arguments& arguments, const std::vector<std::string>& texts) {
    const attn::Splitting splitting{arguments[flags::split], arguments.has(flags::keep_case)};
    if (splitting.by == "words" && std::ranges::find(texts, "-") != texts.end()) {
        throw attn::ConfigError("'-' has no words: --text-file - reads standard input");
    }
    attn::Tokens tokens = attn::tokenize(texts, splitting);
    tokens.by_word = arguments[flags::vocab] == "words";
    if (splitting.by != "words") return tokens;
    const auto unbroken =
        std::find_if(tokens.vocabulary.begin(), tokens.vocabulary.end(), attn::lacks_blanks);
    if (unbroken != tokens.vocabulary.end()) {
        report_note(attn::quoted_text(*unbroken) +
                    " is one word here, as its script has no spaces between words: --split chars "
                    "makes a token of each character");
    }
    return tokens;
}

/// Reads the table of words and their vectors that --vocab names.
///
/// Errors  ConfigError for a text that cannot be a file name; InputError for a file without words.
attn::NamedTensor word_vectors(const std::string& spec) {
    if (!names_a_file(spec)) {
        throw attn::ConfigError(
            "--vocab takes words, text or the name of a file, which has a dot or "
            "a folder in it, not " +
            attn::quoted_text(spec));
    }
    attn::NamedTensor table = attn::read_named_tensor(spec, report_note);
    if (!table.row_names.empty()) return table;
    throw attn::InputError(attn::file_label(spec) +
                           ": has no line that begins with a word: --vocab takes words, text, "
                           "or a file with one word and its numbers per line");
}

/// Returns the vectors of a text's words, one row per id; padding is zero.
///
/// Errors  InputError for a word that the table lacks.
attn::Tensor vectors_of(const attn::Tokens& tokens, const attn::NamedTensor& table,
                        const std::string& spec) {
    const std::size_t width = table.tensor.shape().back();
    attn::Array<double> rows = attn::empty_array<double>({tokens.vocabulary.size(), width});
    for (std::size_t id = 0; id < tokens.vocabulary.size(); ++id) {
        const std::string& word = tokens.vocabulary[id];
        const auto place = std::ranges::find(table.row_names, word);
        const bool is_padding = static_cast<std::int64_t>(id) == tokens.pad_id;
        if (place == table.row_names.end() && !is_padding) {
            throw attn::InputError(attn::file_label(spec) + ": has no vector for " +
                                   attn::quoted_text(word) + ": add a line for it");
        }
        const auto row = static_cast<std::size_t>(place - table.row_names.begin());
        for (std::size_t c = 0; c < width; ++c) {
            rows(id, c) = is_padding ? 0 : table.tensor.at(row * width + c);
        }
    }
    return {{"vocab", "feature"}, std::move(rows)};
}

/// Reads the vectors of words from the --vocab file, for x and for memory.
void take_vectors(const std::string& spec, attn::WalkConfig& config) {
    std::optional<attn::NamedTensor> table;
    const auto take = [&](const attn::Source& source, const char* embedding) {
        const auto* tokens = std::get_if<attn::Tokens>(&source);
        if (tokens == nullptr || tokens->vocabulary.empty()) return;
        if (!table) table = word_vectors(spec);
        config.parameters.record(embedding, vectors_of(*tokens, *table, spec));
        if (!table->column_names.empty()) config.feature_names["x"] = table->column_names;
    };
    take(config.input, "embedding");
    if (config.memory) take(*config.memory, "memory_embedding");
}

/// Parses the names in --tokens, with `;` between sequences.
std::vector<std::vector<std::string>> names_of(const std::string& text) {
    std::vector<std::vector<std::string>> names;
    for (const std::string& row : split(text, ';')) {
        names.emplace_back();
        for (const std::string& name : split(row, ','))
            names.back().push_back(attn::composed(name));
    }
    if (names.size() > 1 && names.back() == std::vector{std::string()}) names.pop_back();
    return names;
}

/// Uses a table's own row names for the tokens.
attn::NamedTensor named_table(const std::string& spec,
                              std::vector<std::vector<std::string>>& names) {
    attn::NamedTensor read = attn::read_named_tensor(spec, report_note);
    if (!read.row_names.empty()) names = {read.row_names};
    return read;
}

attn::Source input_source(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string used = only_source(arguments, sets_x);
    if (used == "--x") {
        const attn::NamedTensor read = named_table(arguments[flags::x], config.names);
        if (!read.column_names.empty()) config.feature_names["x"] = read.column_names;
        return read.tensor;
    }
    if (used == "--example") return set_example(arguments[flags::example], config);
    if (used == "--random") return attn::RandomInput{arguments[flags::random]};
    if (used.empty() && arguments.has_any({flags::batch, flags::seq_len})) {
        return attn::RandomInput{};
    }
    const auto texts = [&]() -> std::vector<std::string> {
        if (used == "--text-file")
            return read_lines(arguments[flags::text_file], "sequence", false);
        return used == "--text" ? arguments[flags::texts]
                                : std::vector<std::string>{default_sentence};
    };
    attn::Tokens tokens =
        used == "--ids" ? parse_ids("--ids", arguments[flags::ids]) : tokens_of(arguments, texts());
    tokens.vocab_size = arguments[flags::vocab_size];
    set_padding(arguments, tokens);
    return tokens;
}

std::optional<attn::Source> memory_source(const Arguments& arguments, const attn::Source& input,
                                          std::vector<std::vector<std::string>>& names) {
    const std::string used = only_source(arguments, sets_memory);
    if (used.empty()) return std::nullopt;
    if (used == "--memory") return named_table(arguments[flags::memory], names).tensor;
    if (used == "--memory-text") return tokens_of(arguments, arguments[flags::memory_texts]);
    if (used == "--memory-ids") {
        attn::Tokens tokens = parse_ids("--memory-ids", arguments[flags::memory_ids]);
        set_padding(arguments, tokens);
        return tokens;
    }
    const auto* random = std::get_if<attn::RandomInput>(&input);
    return random ? *random : attn::RandomInput{};
}

void set_sources(const Arguments& arguments, attn::WalkConfig& config) {
    config.input = input_source(arguments, config);
    config.memory = memory_source(arguments, config.input, config.memory_names);
    const std::string vocab = arguments[flags::vocab];
    if (vocab != "words" && vocab != "text") take_vectors(vocab, config);
    if (!std::holds_alternative<attn::Tokens>(config.input) && arguments.has(flags::vocab_size)) {
        throw attn::ConfigError("--vocab-size belongs to --text or --ids: leave it out");
    }
}

/// Refuses two flags that would read standard input.
void check_standard_input(const Arguments& arguments) {
    const auto reads = [&](const Flag& flag) {
        const std::string spec = flag.may_name_file() ? arguments.text(flag) : "";
        return spec == "-" || spec.starts_with("-:");
    };
    only_one(reads, " would both read standard input: put one into a file");
}

/// True if only slices are selected of the steps with a cell per query and key.
bool requests_parts(const Arguments& arguments) {
    if (arguments.has_any({flags::list_steps, flags::list_rules})) return true;
    if (!arguments.has(flags::only)) return false;
    const auto whole = attn::steps_before_rows(attn::step_table());
    return std::ranges::all_of(wanted_parts(arguments), [&](const attn::WantedPart& part) {
        return part.sliced || std::ranges::find(whole, part.name, &attn::Step::name) != whole.end();
    });
}

}  // namespace

std::vector<std::string> rules_in(const std::string& specified) {
    if (specified == "@")
        throw attn::ConfigError("--rule @ lacks its file: write --rule @rules.txt");
    if (!specified.starts_with('@')) return {specified};
    std::vector<std::string> rules;
    for (const std::string& line : read_lines(specified.substr(1), "rule", true)) {
        rules.emplace_back(attn::trimmed(line));
    }
    return rules;
}

bool makes_walk(const Flag& flag) {
    static const Arguments walks({walk_flags, bug_flags, notebook_walk_flags, config_flags});
    return walks.find(flag.name) == &flag && !flag.writes;
}

Arguments completed(Arguments specified) {
    if (specified.has(flags::notebook)) specified.drop_implied();
    specified = with_config(std::move(specified));
    set_notebook_defaults(specified);
    return specified;
}

Arguments with_flags(const Arguments& arguments, const std::vector<std::string>& words) {
    Arguments line(arguments.tables()), both = arguments;
    line.parse(words, true);
    for (const Arguments::SpecifiedFlag& specified : line.specified()) {
        if (makes_walk(*specified.flag)) continue;
        throw attn::ConfigError(specified.flag->name +
                                " applies to the whole command, not to one walk: take it out of '" +
                                attn::joined(words, " ") + "'");
    }
    both.parse(words, true);
    return completed(std::move(both));
}

void require_all_steps(const attn::WalkConfig& config, const std::string& who) {
    if (config.variant != attn::Variant::fused) return;
    throw attn::ConfigError(who +
                            " looks at scores and weights, which --variant fused does not "
                            "keep: use --variant vectorized");
}

attn::WalkConfig config_of(const Arguments& arguments, const ModelRun* run) {
    check_standard_input(arguments);
    attn::WalkConfig config;
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (flag->sets()) flag->take(config, text);
    }
    if (arguments.has(flags::merge) && arguments.has(flags::no_merge)) {
        throw attn::ConfigError("--merge and --no-merge contradict each other: leave one out");
    }
    const std::string seed = arguments.text(*arguments.find(flags::seed));
    if (config.rng != attn::Rng::torch && seed.starts_with('-')) {
        throw attn::ConfigError("--seed " + seed + " is negative: seeds of NumPy begin at 0");
    }
    if (config.past && arguments.has(flags::causal_align) &&
        config.causal_align == attn::CausalAlign::start) {
        throw attn::ConfigError(
            "--causal-align start would align the first query of x with the first key of --past, "
            "which is an earlier token: leave it out");
    }
    const bool trained = arguments.has(flags::model_file);
    trained ? set_model_layer(arguments, run, config) : set_sources(arguments, config);
    if (arguments.has(flags::tokens)) config.names = names_of(arguments[flags::tokens]);
    set_mask_file(arguments, config);
    if (!config.rules.empty()) require_all_steps(config, "--rule");
    if (!config.attentions.empty()) require_all_steps(config, "--attention");
    if (!trained) set_given_weights(arguments, config);
    if (is_large(config)) {
        const attn::Plan plan = attn::resolve_unnamed(config);
        const attn::StepTable& table = attn::step_table(plan);
        requests_parts(arguments) ? attn::require_memory(attn::steps_before_rows(table), plan)
                                  : attn::require_memory(table, plan);
    }
    const bool learns = arguments.has(flags::learn) && arguments.has(flags::backward);
    return learns ? after_learning(arguments, std::move(config)) : config;
}

void note_changes(const attn::Plan& plan) {
    if (plan.config.changes.empty()) return;
    report_note("differs from the model: " + plan.config.changes);
}

attn::Walked walk_of(const Arguments& arguments, const ModelRun* run) {
    attn::Walked walked{attn::resolve(config_of(arguments, run)), {}, {}};
    walked.table = *table_of(arguments, walked.plan);
    walked.ledger = attn::walk(walked.plan, attn::draw(walked.plan), walked.table);
    return walked;
}

const std::vector<Flag>& bug_flags() {
    static const std::vector<Flag> all = [] {
        std::vector<Flag> flags =
            grouped("Mistakes", {Flag{flags::bugs, "ID",
                                      "make a known mistake (attn-explain bugs lists them); none: "
                                      "leave out those of --notebook, too",
                                      such_as(mistake_ids)}
                                     .repeatable()
                                     .recorded("bugs")});
        for (Flag& flag : gradient_flags()) flags.push_back(std::move(flag));
        return flags;
    }();
    return all;
}

std::vector<std::string> bugs_of(const Arguments& arguments, const attn::Plan& plan) {
    std::vector<std::string> bugs;
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (!flag->is(flags::bug) || text == "none") continue;
        // A notebook's own mistake is dropped if a setting makes it impossible.
        if (!implied || attn::find_mistake(text, plan).applies(plan)) bugs.push_back(text);
    }
    return bugs;
}

std::shared_ptr<const attn::StepTable> table_of(const Arguments& arguments,
                                                const attn::Plan& plan) {
    std::vector<std::string> bugs = bugs_of(arguments, plan);
    std::vector<std::string> back;  // mistakes of the backward pass
    std::erase_if(bugs, [&](const std::string& id) {
        const bool is_back = attn::find_gradient_mistake(id) != nullptr;
        if (is_back) back.push_back(id);
        return is_back;
    });
    if (!back.empty() && !arguments.has(flags::backward)) {
        throw attn::ConfigError("--bug " + back.front() +
                                " is a mistake of the backward pass: add --backward");
    }
    if (!bugs.empty()) require_all_steps(plan.config, "--bug");
    if (arguments.has(flags::backward)) require_all_steps(plan.config, "--backward");
    const attn::StepTable& right = attn::step_table(plan);
    const bool is_right = bugs.empty() && !arguments.has(flags::without);
    if (is_right && !arguments.has(flags::backward)) return {std::shared_ptr<void>(), &right};
    attn::StepTable forward = attn::with_mistakes(right, plan, bugs);
    for (const std::string& word : arguments[flags::without]) {
        const attn::models::Without part = attn::models::parse_without(word);
        if (static_cast<std::int64_t>(part.layer) != plan.config.layer ||
            part.part == attn::models::Without::Part::mlp) {
            continue;
        }
        require_all_steps(plan.config, "--without");
        forward = attn::with_mistake(std::move(forward), plan,
                                     attn::models::as_mistake(part, plan.heads));
    }
    return std::make_shared<const attn::StepTable>(
        attn::with_gradient_mistakes(with_gradients(arguments, plan, forward), plan, back));
}

}  // namespace app
