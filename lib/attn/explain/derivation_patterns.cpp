#include "attn/explain/derivation_patterns.hpp"

#include <algorithm>

#include "attn/text/numbers.hpp"

namespace attn {
namespace {

/// One cell's derivation with what a pattern needs of it.
struct Derived {
    std::vector<std::size_t> indices;
    std::string rule, arithmetic;
    bool is_sum = false;
    std::vector<std::vector<Cell>> terms;  ///< the factors of each term, or one source each
};

/// A pattern that is being gathered.
struct Gathered {
    std::string rule, arithmetic;
    bool is_sum = false;
    std::vector<std::string> steps;  ///< of the factors, with a mark behind each term
    std::vector<std::size_t> cells;
    std::vector<Derived> derived;
};

bool is_digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/// Whether the number `text` stands at `at`, and no longer one.
bool stands_at(const std::string& line, std::size_t at, const std::string& text) {
    if (line.compare(at, text.size(), text) != 0) return false;
    const std::size_t end = at + text.size();
    return (at == 0 || !is_digit(line[at - 1])) && (end == line.size() || !is_digit(line[end]));
}

/// The arithmetic with places for its numbers.
std::string with_places(const std::string& arithmetic, const std::vector<Cell>& sources) {
    std::string text;
    for (std::size_t at = 0; at < arithmetic.size();) {
        std::string place;
        std::size_t length = 0;
        for (std::size_t i = 0; i < sources.size() && length == 0; ++i) {
            const std::string name = cell_text(sources[i]);
            const std::string value = four_decimals(sources[i].value);
            if (arithmetic.compare(at, name.size(), name) == 0) {
                place = "{" + std::to_string(i) + "}";
                length = name.size();
            } else if (stands_at(arithmetic, at, value)) {
                place = "{" + std::to_string(i) + "v}";
                length = value.size();
            }
        }
        text += length > 0 ? place : arithmetic.substr(at, 1);
        at += std::max<std::size_t>(length, 1);
    }
    return text;
}

/// The places filled in again.
std::string filled(std::string text, const std::vector<Cell>& sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::string number = std::to_string(i);
        for (const auto& [place, by] :
             {std::pair{"{" + number + "}", cell_text(sources[i])},
              std::pair{"{" + number + "v}", four_decimals(sources[i].value)}}) {
            for (std::size_t at = text.find(place); at != text.npos; at = text.find(place, at)) {
                text.replace(at, place.size(), by);
                at += by.size();
            }
        }
    }
    return text;
}

/// The derivation's terms or, of one without a sum, its sources. Its arithmetic may also name the
/// number of another step at the same place, as that of weights names the exponential.
Derived derived(const WalkView& view, const std::vector<std::size_t>& indices) {
    Derivation derivation;
    derivation.cell = view.at(view.step.name);
    view.step.why(view, derivation);
    Derived result{indices, derivation.rule, derivation.arithmetic, !derivation.terms.empty(), {}};
    for (const Term& term : derivation.terms) {
        result.terms.push_back({term.left});
        if (term.right) result.terms.back().push_back(*term.right);
    }
    if (result.is_sum) return result;
    for (const Cell& source : derivation.sources) result.terms.push_back({source});
    const std::string rest = with_places(result.arithmetic, derivation.sources);
    for (const Ledger::Entry& entry : view.ledger.entries()) {
        if (entry.name == view.step.name) break;
        const Tensor& own = view.ledger[view.step.name];
        if (entry.tensor.axes() != own.axes() || entry.tensor.shape() != own.shape()) continue;
        const Cell same = view.at(entry.name);
        const std::string value = four_decimals(same.value);
        for (std::size_t at = rest.find(value); at != rest.npos; at = rest.find(value, at + 1)) {
            if (!stands_at(rest, at, value)) continue;
            result.terms.push_back({same});
            break;
        }
    }
    return result;
}

std::vector<Cell> first_factors(const Derived& one) {
    std::vector<Cell> cells;
    for (const auto& factors : one.terms) cells.push_back(factors.front());
    return cells;
}

std::vector<std::string> steps_of(const Derived& one) {
    std::vector<std::string> steps;
    for (const auto& factors : one.terms) {
        for (const Cell& cell : factors) steps.push_back(cell.step);
        steps.emplace_back();
    }
    return steps;
}

/// Adds a cell to the pattern that it fits, or begins another one.
void gather(std::vector<Gathered>& patterns, std::size_t number, Derived one) {
    const std::vector<std::string> steps = steps_of(one);
    const std::vector<Cell> sources = first_factors(one);
    auto place = std::find_if(patterns.begin(), patterns.end(), [&](const Gathered& pattern) {
        return pattern.rule == one.rule && pattern.is_sum == one.is_sum && pattern.steps == steps &&
               filled(pattern.arithmetic, sources) == one.arithmetic;
    });
    if (place == patterns.end()) {
        const std::string arithmetic = with_places(one.arithmetic, sources);
        patterns.push_back({one.rule, arithmetic, one.is_sum, steps, {}, {}});
        place = patterns.end() - 1;
    }
    if (place->cells.size() > 1 &&
        place->cells.back() + place->cells[place->cells.size() - 2] == number) {
        ++place->cells.back();
    } else {
        place->cells.insert(place->cells.end(), {number, 1});
    }
    place->derived.push_back(std::move(one));
}

/// Where one factor of the terms first to first + count lies, over all cells of a pattern.
SourceCells source_cells(const Gathered& pattern, std::size_t first, std::size_t count,
                         std::size_t factor, const Shape& shape, const Ledger& ledger) {
    const std::vector<Derived>& all = pattern.derived;
    const Cell& begin = all.front().terms[first][factor];
    const Shape source_shape = ledger[begin.step].shape();
    const auto number = [&](const Derived& one, std::size_t term) {
        return static_cast<std::ptrdiff_t>(
            flat_index(one.terms[first + term][factor].indices, source_shape));
    };
    SourceCells cells{begin.step};
    for (const Derived& one : all) {
        for (std::size_t t = 0; t < count; ++t) {
            cells.numbers.push_back(static_cast<std::size_t>(number(one, t)));
        }
    }
    // Find how far one step along each axis leads, and check it on all cells.
    std::vector<std::ptrdiff_t> strides(shape.size() + 2, 0);
    if (count > 1) strides.back() = number(all.front(), 1) - number(all.front(), 0);
    const auto flat = [&](const Derived& one) { return flat_index(one.indices, shape); };
    std::size_t length = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; length *= shape[axis]) {
        // The numbers ascend, so the neighbour along an axis is found by halving.
        for (const Derived& one : all) {
            if (one.indices[axis] + 1 == shape[axis]) continue;
            const auto next = std::lower_bound(
                all.begin(), all.end(), flat(one) + length,
                [&](const Derived& other, std::size_t wanted) { return flat(other) < wanted; });
            if (next == all.end() || flat(*next) != flat(one) + length) continue;
            strides[axis + 1] = number(*next, 0) - number(one, 0);
            break;
        }
    }
    const auto guess = [&](const Derived& one, std::size_t term) {
        std::ptrdiff_t place = strides[0] + strides.back() * static_cast<std::ptrdiff_t>(term);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            place += strides[axis + 1] * static_cast<std::ptrdiff_t>(one.indices[axis]);
        }
        return place;
    };
    strides[0] = number(all.front(), 0) - guess(all.front(), 0);
    for (const Derived& one : all) {
        for (std::size_t t = 0; t < count; ++t) {
            if (guess(one, t) != number(one, t)) return cells;
        }
    }
    cells.strides = std::move(strides);
    cells.numbers.clear();
    return cells;
}

DerivationPattern pattern_of(const Gathered& gathered, const Shape& shape, const Ledger& ledger) {
    DerivationPattern pattern{
        gathered.rule, gathered.arithmetic, gathered.is_sum, {}, gathered.cells};
    const auto& terms = gathered.derived.front().terms;
    const auto alike = [&](std::size_t a, std::size_t b) {
        return std::equal(terms[a].begin(), terms[a].end(), terms[b].begin(), terms[b].end(),
                          [](const Cell& x, const Cell& y) { return x.step == y.step; });
    };
    for (std::size_t first = 0; first < terms.size();) {
        std::size_t count = 1;
        while (gathered.is_sum && first + count < terms.size() && alike(first, first + count)) {
            ++count;
        }
        TermRun run{count};
        for (std::size_t factor = 0; factor < terms[first].size(); ++factor) {
            run.factors.push_back(source_cells(gathered, first, count, factor, shape, ledger));
        }
        pattern.terms.push_back(std::move(run));
        first += count;
    }
    return pattern;
}

}  // namespace

std::vector<DerivationPattern> derivation_patterns(const Plan& plan, const StepTable& table,
                                                   const Ledger& ledger, const std::string& name) {
    const Step& step = find_step(table, name);
    const Tensor& tensor = ledger[name];
    if (!step.why || tensor.size() > most_derived_cells) return {};
    const Shape shape = tensor.shape();
    std::vector<Gathered> gathered;
    std::vector<std::size_t> indices(shape.size(), 0);
    WalkView view{plan, table, ledger, step, {}};
    for (std::size_t number = 0; number < tensor.size(); ++number) {
        std::size_t rest = number;
        for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
            indices[axis] = rest % shape[axis];
            view.place[tensor.axes()[axis]] = indices[axis];
        }
        gather(gathered, number, derived(view, indices));
    }
    std::vector<DerivationPattern> patterns;
    for (const Gathered& one : gathered) patterns.push_back(pattern_of(one, shape, ledger));
    return patterns;
}

}  // namespace attn
