#include "attn/notes/chunks.hpp"

#include <algorithm>
#include <cmath>

#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/walk/prefill.hpp"

namespace attn::notes {

namespace {

/// Whether a row of the chunk is looked at.
bool looks_at(const Subject& subject, const PrefillChunk& chunk) {
    const Excerpt& excerpt = subject.excerpt;
    for (std::size_t q = 0; q < excerpt.count("query", subject.plan.query_len); ++q) {
        const std::size_t row = excerpt.index("query", q);
        if (row >= chunk.first && row < chunk.first + chunk.count) return true;
    }
    return false;
}

}  // namespace

std::string chunk_rows(const Subject& subject) {
    if (!subject.plan.config.prefill) return {};
    constexpr std::size_t most = 4;
    std::string text;
    std::size_t told = 0;
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        if (!looks_at(subject, chunks[c])) continue;
        if (++told > most) return text + " and so on.";
        text += (told == 1 ? "Chunk " + std::to_string(c) + " is "
                           : ", chunk " + std::to_string(c) + " ") +
                numbered("row", chunks[c].first, chunks[c].count);
    }
    return text + ".";
}

std::string chunk_check(const Subject& subject) {
    // The walks of the chunks start from all rows.
    if (!subject.plan.config.prefill || !subject.excerpt.is_whole()) return {};
    if (subject.tensor.size() > most_cells) return {};
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    const auto step = std::ranges::find(subject.table, subject.step.name, &Step::name);
    const std::vector<Ledger> ledgers =
        walk_chunks(subject.plan, subject.ledger, StepTable(subject.table.begin(), step + 1));
    const std::size_t columns = subject.tensor.shape().back();
    const std::size_t matrices = subject.tensor.size() / (columns * subject.plan.query_len);
    double apart = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        const Tensor& part = ledgers[c][subject.step.name];
        for (std::size_t i = 0; i < part.size(); ++i) {
            const std::size_t row = i / columns;
            const std::size_t matrix = row / chunks[c].count;
            const std::size_t query = chunks[c].first + row % chunks[c].count;
            const std::size_t whole =
                (matrix % matrices * subject.plan.query_len + query) * columns + i % columns;
            const double difference = std::abs(part.at(i) - subject.tensor.at(whole));
            if (difference > apart) apart = difference;
        }
    }
    const std::string chunked = "Walked through the cache in " + counted(chunks.size(), "chunk") +
                                ", each reading the keys and values of those before it, ";
    if (apart == 0) return chunked + "every row is the same, bit for bit.";
    return chunked + "every row is the same but for rounding (at most " + number(apart) + ").";
}

}  // namespace attn::notes
