#include "attn/why/derivation_patterns.hpp"

#include <algorithm>

#include "attn/tensor/slice.hpp"
#include "attn/text/numbers.hpp"

namespace attn {
namespace {

/// One cell's derivation with what a pattern needs of it.
struct Derived {
    std::string rule, arithmetic;
    bool is_sum = false;
    std::vector<std::vector<Cell>> terms;  ///< the factors of each term, or one source each
    std::vector<bool> exponential;         ///< of each term of a sum
};

/// A pattern that is being gathered.
struct Gathered {
    std::string rule, arithmetic;
    bool is_sum = false;
    std::vector<std::vector<std::string>> steps;  ///< of the factors of each term
    std::vector<bool> exponential;                ///< as in Derived
    std::vector<Shape> shapes;                    ///< of these steps, one after the other
    std::vector<std::size_t> cells;               ///< the number of each
    /// The number of each factor in its own tensor: cell by cell, term by term.
    std::vector<std::size_t> factors;
};

/// How the arithmetic may name a source.
struct SourceText {
    std::string name, value;
};

std::vector<SourceText> texts_of(const std::vector<Cell>& sources) {
    std::vector<SourceText> texts;
    for (const Cell& source : sources) {
        texts.push_back({cell_text(source), four_decimals(source.value)});
    }
    return texts;
}

bool is_digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/// Whether the number `text` stands at `at`, and no longer one.
bool stands_at(const std::string& line, std::size_t at, const std::string& text) {
    if (line.compare(at, text.size(), text) != 0) return false;
    const std::size_t end = at + text.size();
    return (at == 0 || !is_digit(line[at - 1])) && (end == line.size() || !is_digit(line[end]));
}

/// The arithmetic with places for its numbers.
std::string with_places(const std::string& arithmetic, const std::vector<SourceText>& sources) {
    std::string text;
    for (std::size_t at = 0; at < arithmetic.size();) {
        std::string place;
        std::size_t length = 0;
        for (std::size_t i = 0; i < sources.size() && length == 0; ++i) {
            const auto& [name, value] = sources[i];
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
std::string filled(std::string text, const std::vector<SourceText>& sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::string number = std::to_string(i);
        for (const auto& [place, by] : {std::pair{"{" + number + "}", sources[i].name},
                                        std::pair{"{" + number + "v}", sources[i].value}}) {
            for (std::size_t at = text.find(place); at != text.npos; at = text.find(place, at)) {
                text.replace(at, place.size(), by);
                at += by.size();
            }
        }
    }
    return text;
}

/// The tensors before a step that have its axes and shape.
std::vector<const Ledger::Entry*> tensors_like(const Ledger& ledger, const std::string& step) {
    const Tensor& own = ledger[step];
    std::vector<const Ledger::Entry*> alike;
    for (const Ledger::Entry& entry : ledger.entries()) {
        if (entry.name == step) break;
        const bool is_like =
            entry.tensor.axes() == own.axes() && entry.tensor.shape() == own.shape();
        if (is_like) alike.push_back(&entry);
    }
    return alike;
}

/// The terms of the derivation of cell `number` or, of one without a sum, its sources. Its
/// arithmetic may also name the number of another step, `alike`, at the same place, as that of
/// weights names the exponential.
Derived derived(const WalkView& view, std::size_t number,
                const std::vector<const Ledger::Entry*>& alike) {
    Derivation derivation;
    derivation.cell = view.at(view.step.name);
    view.explain(derivation);
    Derived result{derivation.rule, derivation.arithmetic, !derivation.terms.empty(), {}, {}};
    for (Term& term : derivation.terms) {
        std::vector<Cell>& factors = result.terms.emplace_back();
        factors.push_back(std::move(term.left));
        if (term.right) factors.push_back(std::move(*term.right));
        result.exponential.push_back(term.is_exponential);
    }
    if (result.is_sum) return result;
    for (const Cell& source : derivation.sources) result.terms.push_back({source});
    const std::string rest = with_places(result.arithmetic, texts_of(derivation.sources));
    for (const Ledger::Entry* entry : alike) {
        if (rest.empty()) break;
        const std::string value = four_decimals(entry->tensor.at(number));
        for (std::size_t at = rest.find(value); at != rest.npos; at = rest.find(value, at + 1)) {
            if (!stands_at(rest, at, value)) continue;
            result.terms.push_back({view.at(entry->name)});
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

std::vector<std::vector<std::string>> steps_of(const Derived& one) {
    std::vector<std::vector<std::string>> steps;
    for (const auto& factors : one.terms) {
        auto& of_term = steps.emplace_back();
        for (const Cell& cell : factors) of_term.push_back(cell.step);
    }
    return steps;
}

/// Whether the factors of these terms are of these steps.
bool are_of(const std::vector<std::vector<Cell>>& terms,
            const std::vector<std::vector<std::string>>& steps) {
    return std::ranges::equal(terms, steps, [](const auto& factors, const auto& names) {
        return std::ranges::equal(factors, names, {}, &Cell::step);
    });
}

/// Adds a cell to the pattern that it fits, or begins another one.
void gather(std::vector<Gathered>& patterns, std::size_t number, const Derived& one,
            const Ledger& ledger) {
    std::vector<SourceText> texts;
    if (!one.arithmetic.empty()) texts = texts_of(first_factors(one));
    auto place = std::find_if(patterns.begin(), patterns.end(), [&](const Gathered& pattern) {
        return pattern.rule == one.rule && pattern.is_sum == one.is_sum &&
               pattern.exponential == one.exponential && are_of(one.terms, pattern.steps) &&
               filled(pattern.arithmetic, texts) == one.arithmetic;
    });
    if (place == patterns.end()) {
        const std::string arithmetic = with_places(one.arithmetic, texts);
        const std::vector<std::vector<std::string>> steps = steps_of(one);
        patterns.push_back({one.rule, arithmetic, one.is_sum, steps, one.exponential, {}, {}, {}});
        place = patterns.end() - 1;
        for (const auto& of_term : steps) {
            for (const std::string& step : of_term) place->shapes.push_back(ledger[step].shape());
        }
    }
    place->cells.push_back(number);
    auto shape = place->shapes.begin();
    for (const auto& factors : one.terms) {
        for (const Cell& cell : factors) {
            place->factors.push_back(flat_index(cell.indices, *shape++));
        }
    }
}

/// Factors that lie at the same place in each of `count` terms that follow one another.
struct FactorRun {
    std::size_t first;     ///< of all factors of a cell
    std::size_t distance;  ///< from one term to the next
    std::size_t count;
};

/// Where these factors lie, over all cells of a pattern.
SourceCells source_cells(const Gathered& pattern, const std::string& step, const FactorRun& run,
                         const Shape& shape) {
    const std::vector<std::size_t>& all = pattern.cells;
    const std::size_t of_each = pattern.factors.size() / all.size();
    const auto number = [&](std::size_t i, std::size_t term) {
        return static_cast<std::ptrdiff_t>(
            pattern.factors[i * of_each + run.first + term * run.distance]);
    };
    SourceCells cells{step};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t t = 0; t < run.count; ++t) {
            cells.numbers.push_back(static_cast<std::size_t>(number(i, t)));
        }
    }
    // Find how far one step along each axis leads, and check it on all cells.
    std::vector<std::ptrdiff_t> strides(shape.size() + 2, 0);
    if (run.count > 1) strides.back() = number(0, 1) - number(0, 0);
    std::size_t length = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; length *= shape[axis]) {
        // The numbers ascend, so the neighbour along an axis is found by halving.
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] / length % shape[axis] + 1 == shape[axis]) continue;
            const auto next = std::lower_bound(all.begin(), all.end(), all[i] + length);
            if (next == all.end() || *next != all[i] + length) continue;
            strides[axis + 1] =
                number(static_cast<std::size_t>(next - all.begin()), 0) - number(i, 0);
            break;
        }
    }
    const auto guess = [&](std::size_t i, std::size_t term) {
        std::ptrdiff_t place = strides[0] + strides.back() * static_cast<std::ptrdiff_t>(term);
        std::size_t rest = all[i];
        for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
            place += strides[axis + 1] * static_cast<std::ptrdiff_t>(rest % shape[axis]);
        }
        return place;
    };
    strides[0] = number(0, 0) - guess(0, 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t t = 0; t < run.count; ++t) {
            if (guess(i, t) != number(i, t)) return cells;
        }
    }
    cells.strides = std::move(strides);
    cells.numbers.clear();
    return cells;
}

/// Numbers that ascend as first, count, first, count, ...
std::vector<std::size_t> in_runs(const std::vector<std::size_t>& numbers) {
    std::vector<std::size_t> runs;
    for (const std::size_t number : numbers) {
        if (!runs.empty() && runs[runs.size() - 2] + runs.back() == number) {
            ++runs.back();
        } else {
            runs.insert(runs.end(), {number, 1});
        }
    }
    return runs;
}

DerivationPattern pattern_of(const Gathered& gathered, const Shape& shape) {
    DerivationPattern pattern{
        gathered.rule, gathered.arithmetic, gathered.is_sum, {}, in_runs(gathered.cells)};
    const auto& terms = gathered.steps;
    std::size_t begin = 0;
    for (std::size_t first = 0; first < terms.size();) {
        std::size_t count = 1;
        while (gathered.is_sum && first + count < terms.size() &&
               terms[first] == terms[first + count]) {
            ++count;
        }
        const std::size_t width = terms[first].size();
        TermRun run{count};
        run.is_exponential = gathered.is_sum && gathered.exponential[first];
        for (std::size_t factor = 0; factor < width; ++factor) {
            run.factors.push_back(source_cells(gathered, terms[first][factor],
                                               {begin + factor, width, count}, shape));
        }
        pattern.terms.push_back(std::move(run));
        first += count;
        begin += count * width;
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
    const std::vector<const Ledger::Entry*> alike = tensors_like(ledger, name);
    std::vector<Gathered> gathered;
    WalkView view{plan, table, ledger, step, {}};
    for (std::size_t number = 0; number < tensor.size(); ++number) {
        const std::vector<std::size_t> indices = indices_of(number, shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            view.place[tensor.axes()[axis]] = indices[axis];
        }
        gather(gathered, number, derived(view, number, alike), ledger);
    }
    std::vector<DerivationPattern> patterns;
    for (const Gathered& one : gathered) patterns.push_back(pattern_of(one, shape));
    return patterns;
}

}  // namespace attn
