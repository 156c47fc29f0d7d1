#include "app/flags/sources.hpp"

#include <fstream>
#include <iostream>
#include <iterator>

#include "app/flags/parse.hpp"
#include "app/terminal/messages.hpp"
#include "attn/io/read_tensor.hpp"
#include "attn/text/tokenize.hpp"

namespace app {
namespace {

/// Far above any text one reads step by step, far below what would hurt.
constexpr std::size_t largest_text = std::size_t{1} << 26;

std::string read_whole(std::istream& stream, const std::string& name) {
    std::string text;
    std::array<char, 65536> buffer{};
    while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > largest_text) {
            throw attn::InputError(name + ": more than 64 MB of text; pass fewer sequences");
        }
    }
    if (stream.bad()) throw attn::InputError(name + ": cannot be read; is it a text file?");
    return text;
}

std::vector<std::string> read_lines(const std::string& path) {
    const std::string name = path == "-" ? "standard input" : path;
    std::string text;
    if (path == "-") {
        text = read_whole(std::cin, name);
    } else {
        std::ifstream file(path, std::ios::binary);
        if (!file)
            throw attn::InputError(path + ": cannot be opened; check the name and the permissions");
        text = read_whole(file, name);
    }
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n')) {
        if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
    }
    if (lines.empty()) throw attn::InputError(name + ": has no text; write one sequence a line");
    return lines;
}

attn::Tokens parse_ids(const std::string& flag, const std::string& text) {
    attn::Tokens tokens;
    std::vector<std::string> rows = split(text, ';');
    tokens.batch_axis = rows.size() > 1;
    if (rows.size() > 1 && rows.back().empty()) rows.pop_back();
    for (const std::string& row : rows) {
        std::vector<std::int64_t>& ids = tokens.sequences.emplace_back();
        for (const std::string& id : split(row, ',')) ids.push_back(parse_integer(flag, id));
    }
    return tokens;
}

void set_vocabulary(const WalkFlags& flags, attn::Tokens& tokens) {
    if (flags.vocab_size) {
        if (*flags.vocab_size < 1 || *flags.vocab_size > 1'000'000'000) {
            throw attn::ConfigError("--vocab-size " + std::to_string(*flags.vocab_size) +
                                    " is not between 1 and 1000000000");
        }
        tokens.vocab_size = flags.vocab_size;
    }
    if (flags.pad_id.empty()) return;
    tokens.pad_id.reset();
    if (flags.pad_id == "none") return;
    tokens.pad_id = parse_integer("--pad-id", flags.pad_id);
    if (*tokens.pad_id < 0) throw attn::ConfigError("--pad-id must not be negative");
}

/// The one of `names` whose flag was used, or nothing.  Errors  ConfigError when two were.
std::string only_one(const std::vector<std::pair<std::string, bool>>& flags) {
    std::string used;
    for (const auto& [name, given] : flags) {
        if (!given) continue;
        if (!used.empty()) {
            throw attn::ConfigError(used + " and " + name + " are two sources: leave one out");
        }
        used = name;
    }
    return used;
}

/// Whether a mask is one that is added to the scores: 0 where a key may be seen, -inf or a number
/// that softmax makes 0 of where it may not.
bool is_additive(const attn::Tensor& mask) {
    constexpr double surely_hidden = -1e4;
    bool hides = false;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        const double value = mask.at(i);
        if (value != 0 && !(value <= surely_hidden)) return false;
        hides = hides || value != 0;
    }
    return hides;
}

attn::Source input_source(const WalkFlags& flags) {
    const std::string used = only_one({{"--text", !flags.text.empty()},
                                       {"--text-file", !flags.text_file.empty()},
                                       {"--ids", !flags.ids.empty()},
                                       {"--random", !flags.random.empty()},
                                       {"--x", !flags.x.empty()}});
    if (used == "--x") return attn::read_tensor(flags.x, report_note);
    if (used == "--random") {
        return attn::RandomInput{parse_word<attn::Distribution>("--random", flags.random)};
    }
    if (used.empty() && (flags.batch || flags.seq_len || flags.embed_dim)) {
        return attn::RandomInput{};
    }
    attn::Tokens tokens;
    if (used == "--ids") {
        tokens = parse_ids("--ids", flags.ids);
    } else if (used == "--text-file") {
        tokens = attn::tokenize(read_lines(flags.text_file));
    } else {
        tokens = attn::tokenize(used == "--text"
                                    ? flags.text
                                    : std::vector<std::string>{"Life is short, eat dessert first"});
    }
    set_vocabulary(flags, tokens);
    return tokens;
}

std::optional<attn::Source> memory_source(const WalkFlags& flags, const attn::Source& input) {
    const std::string used = only_one({{"--memory-text", !flags.memory_text.empty()},
                                       {"--memory-ids", !flags.memory_ids.empty()},
                                       {"--memory-len", flags.memory_len.has_value()},
                                       {"--memory", !flags.memory.empty()}});
    if (used.empty()) return std::nullopt;
    if (used == "--memory") return attn::read_tensor(flags.memory, report_note);
    if (used == "--memory-text") return attn::tokenize(flags.memory_text);
    if (used == "--memory-ids") {
        attn::Tokens tokens = parse_ids("--memory-ids", flags.memory_ids);
        if (!flags.pad_id.empty() && flags.pad_id != "none") {
            tokens.pad_id = parse_integer("--pad-id", flags.pad_id);
        }
        return tokens;
    }
    const auto* random = std::get_if<attn::RandomInput>(&input);
    return random ? *random : attn::RandomInput{};
}

}  // namespace

void set_sources(const WalkFlags& flags, attn::WalkConfig& config) {
    config.input = input_source(flags);
    config.memory = memory_source(flags, config.input);
    if (!std::holds_alternative<attn::Tokens>(config.input) && flags.vocab_size) {
        throw attn::ConfigError("--vocab-size belongs to --text or --ids: leave it out");
    }
    config.batch = flags.batch;
    config.query_len = flags.seq_len;
    config.key_len = flags.memory_len;
    if (!flags.lengths.empty()) {
        for (const std::string& length : split(flags.lengths, ',')) {
            config.lengths.push_back(parse_integer("--lengths", length));
        }
    }
}

bool says_a_source(const WalkFlags& flags) {
    return !flags.text.empty() || !flags.text_file.empty() || !flags.ids.empty() ||
           !flags.random.empty() || !flags.x.empty();
}

void check_standard_input(const WalkFlags& flags) {
    const auto is_standard_input = [](const std::string& spec) {
        return spec == "-" || spec.starts_with("-:");
    };
    std::string reader;
    for (const auto& [flag, spec] : {std::pair{"--text-file", &flags.text_file},
                                     {"--x", &flags.x},
                                     {"--memory", &flags.memory},
                                     {"--mask-file", &flags.mask_file},
                                     {"--weights", &flags.weights}}) {
        if (!is_standard_input(*spec)) continue;
        if (!reader.empty()) {
            throw attn::ConfigError(reader + " and " + flag +
                                    " would both read standard input: put one into a file");
        }
        reader = flag;
    }
}

attn::Tensor read_mask(const std::string& spec, const std::string& mask_true) {
    const attn::Tensor read = attn::read_tensor(spec, report_note);
    const bool additive = is_additive(read);
    if (additive && !mask_true.empty()) {
        report_note("--mask-true has no effect: " + spec + " is added to the scores");
    }
    if (!additive && mask_true != "keep" && mask_true != "drop") {
        throw attn::ConfigError(
            "--mask-file needs --mask-true keep or --mask-true drop: libraries differ in what true "
            "means, so there is no default");
    }
    attn::Array<bool> hidden = attn::empty_array<bool>(read.shape());
    for (std::size_t i = 0; i < read.size(); ++i) {
        const double value = read.at(i);
        if (!additive && value != 0 && value != 1) {
            throw attn::InputError(spec + ": element " + std::to_string(i) +
                                   " of the mask is neither 0 nor 1: save it as bool, or as 0 and "
                                   "-inf");
        }
        hidden.data()[i] = additive ? value < 0 : (value == 1) == (mask_true == "drop");
    }
    return {read.axes(), std::move(hidden)};
}

}  // namespace app
