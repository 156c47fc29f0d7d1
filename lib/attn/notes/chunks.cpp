#include "attn/notes/chunks.hpp"

#include <algorithm>
#include <cmath>

#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/walk/prefill.hpp"

namespace attn::notes {

std::string chunk_rows(const Subject& subject) {
    if (!subject.plan.config.prefill) return {};
    constexpr std::size_t most = 4;
    std::string text;
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    for (std::size_t c = 0; c < std::min(chunks.size(), most); ++c) {
        text += (c == 0 ? "Chunk 0 is " : ", chunk " + std::to_string(c) + " ") +
                numbered("row", chunks[c].first, chunks[c].count);
    }
    return text + (chunks.size() > most ? " and so on." : ".");
}

std::string chunk_check(const Subject& subject) {
    if (!subject.plan.config.prefill || subject.tensor.size() > most_cells) return {};
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    const std::vector<Ledger> ledgers = walk_chunks(subject.plan, subject.ledger, subject.table);
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
