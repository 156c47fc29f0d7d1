#include "attn/explain/notes/feature_notes.hpp"

#include "attn/core/plan/example_file.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/walk/feature_names.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// Returns `noun, verb`, or `noun in head 0; verb in head 1`.
std::string names_text(const FeatureNames& lists) {
    std::vector<std::string> texts;
    for (std::size_t head = 0; head < lists.size(); ++head) {
        std::vector<std::string> names;
        for (const std::string& name : lists[head]) names.push_back(shortened(name));
        texts.push_back(joined(names) +
                        (lists.size() > 1 ? " in head " + std::to_string(head) : ""));
    }
    return joined(texts, "; ");
}

}  // namespace

std::string feature_sentence(const PlannedStep& of, const Tensor& tensor) {
    constexpr std::size_t most_names = 12;
    std::string sentence;
    const auto& example = of.plan.config.example;
    if (of.step.name == "x" && example != nullptr) {
        sentence = "Example " + shortened(example->name) +
                   ", set by hand: " + visible(example->title) + ".";
    }
    std::vector<std::string> parts;
    for (std::size_t axis = 0; axis < tensor.dimension(); ++axis) {
        const FeatureNames names = feature_names(of, tensor, axis);
        if (names.empty() || names[0].size() > most_names) continue;
        const std::string& name = tensor.axes()[axis];
        const bool is_matrix = (name == "out" || name == "in") && tensor.dimension() > 1;
        const bool is_last = axis + 1 == tensor.dimension();
        const std::string what = !is_matrix ? "features: " : is_last ? "columns: " : "rows: ";
        parts.push_back(what + names_text(names));
    }
    if (!parts.empty()) append_sentence(sentence, capitalised(joined(parts, "; ")) + ".");
    return sentence;
}

}  // namespace attn::notes
