#include <map>

#include "app/flags/bench_words.hpp"
#include "app/flags/formats.hpp"
#include "app/reference/description.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/lint.hpp"
#include "attn/mistakes/mistake.hpp"
#include "attn/notebooks/notebook.hpp"
#include "attn/walk/words.hpp"

namespace reference {
namespace {

using Kind = Values::Kind;

template <class Choice>
Values words_of(Kind kind = Kind::words) {
    Values values{kind, {}};
    for (const auto& [word, choice] : attn::words<Choice>) values.words.emplace_back(word);
    return values;
}

Values steps(Kind kind) {
    Values values{kind, {}};
    for (const attn::Step& step : attn::step_table()) values.words.push_back(step.name);
    return values;
}

Values mistakes() {
    Values values{Kind::words, {}};
    for (const attn::Mistake& mistake : attn::mistakes()) values.words.push_back(mistake.id);
    return values;
}

Values lint_rules(Kind kind) {
    Values values{kind, {}};
    for (const attn::LintRule& rule : attn::lint_rules()) values.words.push_back(rule.id);
    return values;
}

Values notebooks() {
    Values values{Kind::words, {}};
    for (const attn::Notebook& notebook : attn::notebooks()) {
        values.words.push_back(notebook.number);
        values.words.push_back(notebook.name);
    }
    return values;
}

Values only_words(std::vector<std::string> words) { return {Kind::words, std::move(words)}; }

const std::vector<std::string> masks{"none", "causal", "padding", "causal,padding"};

/// What `why --what-if` can set, each as NAME=WORD.
Values settings() {
    Values values{Kind::words, {}};
    const auto add = [&values](const std::string& name, const std::vector<std::string>& words) {
        for (const std::string& word : words) values.words.push_back(name + "=" + word);
    };
    add("mask", masks);
    add("scale", words_of<attn::ScaleChoice::By>().words);
    add("softmax-axis", words_of<attn::SoftmaxAxis>().words);
    return values;
}

// By the name of the flag, or by that of the command and the flag where commands differ. Words that
// no table of the library holds are those that the flag's own parser compares with.
const std::map<std::string, Values>& table() {
    static const std::map<std::string, Values> all{
        {"--random", words_of<attn::Distribution>()},
        {"--projection", words_of<attn::Projection>()},
        {"--init", words_of<attn::Init>()},
        {"--weight-layout", words_of<attn::WeightLayout>()},
        {"--model", only_words({"gpt2", "bert"})},
        {"--mask", only_words(masks)},
        {"--mask-true", only_words({"keep", "drop"})},
        {"--causal-align", words_of<attn::CausalAlign>()},
        {"--empty-row", words_of<attn::EmptyRow>()},
        {"--scale", words_of<attn::ScaleChoice::By>()},
        {"--softmax-axis", words_of<attn::SoftmaxAxis>()},
        {"--rng", words_of<attn::Rng>()},
        {"--torch-build", words_of<attn::TorchBuild>()},
        {"--dtype", words_of<attn::DType>()},
        {"--compute-dtype", words_of<attn::DType>()},
        {"--variant", words_of<attn::Variant>()},
        {"--bug", mistakes()},
        {"--format", only_words(app::format_list())},
        {"--code", only_words({"torch", "numpy"})},
        {"--color", only_words({"auto", "always", "never"})},
        {"--sci-mode", only_words({"auto", "on", "off"})},
        {"--threshold", only_words({"inf"})},
        {"--pad-id", only_words({"none"})},
        {"--only", steps(Kind::list)},
        {"--from", steps(Kind::words)},
        {"--until", steps(Kind::words)},
        {"--what-if", settings()},
        {"notebook NAME", notebooks()},
        {"why CELL", steps(Kind::cell)},
        {"lint --only", lint_rules(Kind::list)},
        {"lint --explain", lint_rules(Kind::words)},
        {"compare A", words_of<attn::Variant>(Kind::file)},
        {"compare B", words_of<attn::Variant>(Kind::file)},
        {"diagnose FILE", {Kind::file, {}}},
        {"bugs ID", mistakes()},
        {"bench --variant", words_of<attn::Variant>(Kind::list)},
        {"bench --arch", words_of<attn::InstructionSet>(Kind::list)},
        {"bench --mask", only_words({"none", "causal"})},
    };
    return all;
}

}  // namespace

Values values_of(const std::string& command, const std::string& flag) {
    const auto own = table().find(command + " " + flag);
    const auto common = table().find(flag);
    if (own != table().end()) return own->second;
    return common != table().end() ? common->second : Values{};
}

}  // namespace reference
