#include "attn/plan/token_names.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

std::vector<std::vector<std::string>> usual_labels(const Source& source) {
    std::vector<std::vector<std::string>> labels;
    const auto* tokens = std::get_if<Tokens>(&source);
    if (tokens == nullptr) return labels;
    if (!tokens->labels.empty()) return tokens->labels;
    for (const auto& sequence : tokens->sequences) {
        std::vector<std::string>& row = labels.emplace_back();
        for (const std::int64_t id : sequence) {
            const auto index = static_cast<std::size_t>(id);
            row.push_back(index < tokens->vocabulary.size() ? tokens->vocabulary[index]
                                                            : std::to_string(id));
        }
    }
    return labels;
}

void require_names(bool fine, const std::string& message) {
    if (!fine) throw ConfigError(message);
}

}  // namespace

std::vector<std::vector<std::string>> token_names(
    const Source& source, const std::vector<std::vector<std::string>>& names, std::size_t batch,
    std::size_t length) {
    std::vector<std::vector<std::string>> labels = usual_labels(source);
    if (names.empty()) return labels;
    require_names(names.size() == 1 || names.size() == batch,
                  "$tokens has "_told + std::to_string(names.size()) + " lists for " +
                      std::to_string(batch) + " sequences: give one for each, or one for all");
    const auto* tokens = std::get_if<Tokens>(&source);
    labels.resize(batch, labels.empty() ? std::vector<std::string>() : labels.back());
    for (std::size_t b = 0; b < batch; ++b) {
        const std::vector<std::string>& row = names[std::min(b, names.size() - 1)];
        for (std::size_t i = labels[b].size(); i < length; ++i)
            labels[b].push_back(std::to_string(i));
        // What fills a sequence up need not be named.
        std::size_t needed = length;
        while (tokens != nullptr && tokens->pad_id && needed > row.size() &&
               tokens->sequences[std::min(b, tokens->sequences.size() - 1)][needed - 1] ==
                   *tokens->pad_id) {
            --needed;
        }
        require_names(row.size() >= needed && row.size() <= length,
                      "$tokens gives "_told + std::to_string(row.size()) + " names for the " +
                          std::to_string(length) +
                          " tokens of x: give one for each, and _ for what needs none");
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i] != "_") labels[b][i] = row[i];
        }
    }
    return labels;
}

}  // namespace attn
