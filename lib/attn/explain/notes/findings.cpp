#include "attn/explain/notes/findings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/explain/notes/labels.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {

Cells::Cells(const Tensor& tensor) : tensor_(&tensor) {
    if (!tensor.is_floating()) return;
    if (tensor.dtype() == DType::float64) {
        doubles_ = tensor.as<double>().data();
    } else {
        singles_ = tensor.as<float>().data();
    }
}

Matrices::Matrices(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    if (shape.size() >= 2) {
        const Groups groups = groups_of(shape);
        count = groups.count;
        rows = groups.rows;
        columns = groups.columns;
    } else {
        columns = tensor.size();
    }
}

namespace {

/// Returns the index of matrix `group` on every axis before its last two.
std::vector<std::size_t> leading_indices(const Shape& shape, std::size_t group) {
    std::vector<std::size_t> indices(shape.size() < 2 ? 0 : shape.size() - 2);
    for (std::size_t i = indices.size(); i-- > 0;) {
        indices[i] = group % shape[i];
        group /= shape[i];
    }
    return indices;
}

/// True if the excerpt has a row of the chunk.
bool looks_at(const Subject& subject, const PrefillChunk& chunk) {
    const Excerpt& excerpt = subject.excerpt;
    for (std::size_t q = 0; q < excerpt.count("query", subject.plan.query_len); ++q) {
        const std::size_t row = excerpt.index("query", q);
        if (row >= chunk.first && row < chunk.first + chunk.count) return true;
    }
    return false;
}

}  // namespace

std::size_t batch_of(const Subject& subject, std::size_t group) {
    const Tensor& tensor = subject.tensor;
    const std::vector<std::size_t> indices = leading_indices(tensor.shape(), group);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (tensor.axes()[i] == "batch") return subject.excerpt.index("batch", indices[i]);
    }
    return 0;
}

std::string matrix_name(const Excerpt& excerpt, const Tensor& tensor, std::size_t group) {
    const Shape shape = tensor.shape();
    const std::vector<std::size_t> indices = leading_indices(shape, group);
    std::string name;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::string& axis = tensor.axes()[i];
        if (excerpt.length(axis, shape[i]) == 1) continue;
        if (!name.empty()) name += ", ";
        name += (axis == "batch" ? "sequence" : axis) + " " +
                std::to_string(excerpt.index(axis, indices[i]));
    }
    return name;
}

std::string in_matrix(const Subject& subject, std::size_t group) {
    const std::string name = matrix_name(subject.excerpt, subject.tensor, group);
    return name.empty() ? name : "In " + name + ", ";
}

std::string within_matrix(const Subject& subject, std::size_t group) {
    const std::string name = matrix_name(subject.excerpt, subject.tensor, group);
    return name.empty() ? name : " in " + name;
}

std::string within_matrix(const Subject& subject, const Tensor& tensor) {
    const std::string name = matrix_name(subject.excerpt, tensor, 0);
    return name.empty() ? name : " in " + name;
}

std::string of_first_matrix(const Subject& subject, const std::string& sentence) {
    const std::string place = in_matrix(subject);
    return place.empty() ? capitalised(sentence) : place + sentence;
}

double rounding(const Tensor& tensor) {
    return (is_16_bit(tensor.dtype()) ? 1 : 8) * epsilon(tensor.dtype());
}

std::optional<MatrixCell> largest_cell(const Tensor& tensor, std::size_t group) {
    const Matrices matrices(tensor);
    const Cells cells(tensor);
    const std::size_t start = group * matrices.cells();
    std::optional<MatrixCell> largest;
    double runner_up = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < matrices.cells(); ++i) {
        const double value = cells[start + i];
        if (std::isnan(value) || value == -std::numeric_limits<double>::infinity()) continue;
        if (!largest || value > largest->value) {
            if (largest) runner_up = largest->value;
            largest = MatrixCell{i / matrices.columns, i % matrices.columns, value};
        } else {
            runner_up = std::max(runner_up, value);
        }
    }
    if (largest) {
        largest->alone = largest->value - runner_up > rounding(tensor) * std::abs(largest->value);
    }
    return largest;
}

std::optional<MatrixCell> longest_row(const Tensor& tensor, std::size_t group) {
    const Matrices matrices(tensor);
    const Cells cells(tensor);
    MatrixCell longest;
    double runner_up = 0;
    for (std::size_t row = 0; row < matrices.rows; ++row) {
        const std::size_t start = group * matrices.cells() + row * matrices.columns;
        double squares = 0;
        for (std::size_t c = 0; c < matrices.columns; ++c) {
            squares += cells[start + c] * cells[start + c];
        }
        const double length = std::sqrt(squares);
        if (!std::isfinite(length)) return {};
        if (length > longest.value) {
            runner_up = longest.value;
            longest = {row, 0, length};
        } else {
            runner_up = std::max(runner_up, length);
        }
    }
    const bool alone = longest.value - runner_up > rounding(tensor) * longest.value;
    return alone && matrices.rows > 1 ? std::optional(longest) : std::nullopt;
}

Rows zero_rows(const Tensor& tensor, std::size_t group) {
    const Matrices matrices(tensor);
    const Cells cells(tensor);
    Rows rows;
    for (std::size_t row = 0; row < matrices.rows; ++row) {
        const std::size_t start = group * matrices.cells() + row * matrices.columns;
        std::size_t column = 0;
        while (column < matrices.columns && cells[start + column] == 0) ++column;
        if (column == matrices.columns) rows.add(row);
    }
    return rows;
}

std::string named(const Subject& subject, const Rows& rows) {
    const std::string first = row_label(subject, rows.first);
    return rows.count < 2 ? first : first + " and " + counted(rows.count - 1, "other");
}

std::vector<std::size_t> heads_in(const Subject& subject, std::size_t width) {
    const Tensor& tensor = subject.tensor;
    std::vector<std::size_t> heads;
    if (tensor.has_axis("head")) {
        for (std::size_t h = 0; h < tensor.extent("head"); ++h) {
            heads.push_back(subject.excerpt.index("head", h));
        }
        return heads;
    }
    for (std::size_t f = 0; f < tensor.shape().back(); ++f) {
        const std::size_t head = subject.excerpt.index("feature", f) / width;
        if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
    }
    return heads;
}

std::string features_of_heads(const std::vector<std::size_t>& heads, std::size_t width,
                              const std::string& verb, const std::string& preposition) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(heads.size(), 2); ++i) {
        text += (i == 0 ? "" : ", ") + numbered("feature", heads[i] * width, width) + " " +
                (i > 0 ? "" : verb + (width == 1 ? "s " : " ")) + preposition + " head " +
                std::to_string(heads[i]);
    }
    return text + (heads.size() > 2 ? " and so on" : "");
}

std::string not_finite(const Tensor& tensor) {
    if (tensor.size() > most_cells) return {};
    const Cells cells(tensor);
    std::size_t nans = 0;
    std::size_t infinite = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isnan(cells[i])) ++nans;
        if (std::isinf(cells[i])) ++infinite;
    }
    if (nans + infinite == 0) return {};
    const std::size_t all = nans + infinite;
    const std::string kind = infinite == 0 ? "nan" : nans == 0 ? "infinite" : "nan or infinite";
    return std::to_string(all) + " of its " + counted(tensor.size(), "number") +
           (all == 1 ? " is " + kind + ": it spreads to every number computed from it."
                     : " are " + kind + ": they spread to every number computed from them.");
}

std::string chunk_rows(const Subject& subject) {
    if (!subject.plan.config.prefill) return {};
    constexpr std::size_t most = 4;
    std::string text;
    std::size_t reported = 0;
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        if (!looks_at(subject, chunks[c])) continue;
        if (++reported > most) return text + " and so on.";
        text += (reported == 1 ? "Chunk " + std::to_string(c) + " is "
                               : ", chunk " + std::to_string(c) + " ") +
                numbered("row", chunks[c].first, chunks[c].count);
    }
    return text + ".";
}

std::string chunk_check(const Subject& subject) {
    const std::span<const Ledger> ledgers = subject.chunks;
    if (ledgers.empty()) return {};
    const std::vector<PrefillChunk> chunks = prefill_chunks(subject.plan);
    const std::size_t columns = subject.tensor.shape().back();
    const std::size_t matrices = subject.tensor.size() / (columns * subject.plan.query_len);
    double distance = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        const Tensor& part = ledgers[c][subject.step.name];
        for (std::size_t i = 0; i < part.size(); ++i) {
            const std::size_t row = i / columns;
            const std::size_t matrix = row / chunks[c].count;
            const std::size_t query = chunks[c].first + row % chunks[c].count;
            const std::size_t whole =
                (matrix % matrices * subject.plan.query_len + query) * columns + i % columns;
            const double difference = std::abs(part.at(i) - subject.tensor.at(whole));
            if (difference > distance) distance = difference;
        }
    }
    const std::string chunked = "Walked through the cache in " + counted(chunks.size(), "chunk") +
                                ", each reading the keys and values of those before it, ";
    if (distance == 0) return chunked + "every row is the same, bit for bit.";
    return chunked + "every row is the same except for rounding (at most " + number(distance) +
           ").";
}

}  // namespace attn::notes
