#include "app/commands/printed_cells.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "app/commands/printed_numbers.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// Returns the line of a text around a place.
std::string line_around(const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    return std::string(attn::trimmed(std::string_view(text).substr(begin, end - begin)));
}

class Proofreader {
public:
    Proofreader(const std::string& text, const attn::Ledger& file, const attn::Diagnosis& diagnosis,
                const std::vector<std::string>& tokens)
        : text_(text),
          numbers_(numbers_in(text)),
          diagnosis_(diagnosis),
          table_(attn::kept_table(*diagnosis.plan)),
          tokens_(tokens),
          ordered_(diagnosis, file),
          walk_(attn::walk(*diagnosis_.plan, diagnosis_.given, table_)) {
        for (const auto& [name, tensor] : ordered_.actual.entries()) {
            printed_.emplace(name, PrintedTensor(printed_cells(numbers_, tensor), tensor));
            finest_ = std::min(finest_, printed_.at(name).finest);
        }
    }

    Proof proof() {
        Proof exact = judged(true);
        if (exact.wrong.empty() || are_inputs_exact()) return exact;
        return judged(false);
    }

private:
    /// Returns the tensors before the first step.
    attn::Ledger given() const {
        attn::Ledger given = diagnosis_.given;
        // Bounds are for numbers with digits to lose: masks and positions are those of the walk.
        for (const auto& [name, tensor] : walk_.entries()) {
            if (!tensor.is_floating()) given.record(name, tensor);
        }
        return given;
    }

    Proof judged(bool is_exact) {
        is_exact_ = is_exact;
        Proof proof;
        attn::Ledger printed = given(), corrected = printed;
        std::set<std::string> seen;
        for (const attn::StepVerdict& row : ordered_.rows) {
            const attn::Tensor* const actual = ordered_.actual.find(row.name);
            if (actual == nullptr || !seen.insert(row.name).second) {
                proof.unjudged.push_back(row.name_in_file);
                continue;
            }
            attn::Tensor fixed = *actual;
            // Right in one of two ways: from the numbers before it as they are printed, or as they
            // should be.
            std::string step = row.name;
            using Kind = attn::Step::Kind;
            const Kind kind = attn::find_step(table_, row.name).kind;
            const bool is_input = kind == Kind::input || kind == Kind::parameter;
            if (is_form(row) || (is_input && row.local == attn::Verdict::right)) {
                proof.right.push_back(row.name_in_file);
            } else {
                step = judge(row, *actual, printed, corrected, fixed, proof);
            }
            printed.record(step, *actual);
            corrected.record(step, fixed);
        }
        return proof;
    }

    /// True if the numbers are those of another way to compute the step, which has a name. That
    /// later results are right regardless makes a misprint no such way.
    bool is_form(const attn::StepVerdict& row) const {
        const attn::Finding* const found = harmless_mistake(row);
        return found != nullptr && found->replayed;
    }
    /// True if the numbers only allow the same later results, and most cells differ.
    bool may_be_form(const attn::StepVerdict& row, std::size_t wrong, std::size_t size) const {
        return harmless_mistake(row) != nullptr && 2 * wrong > size;
    }
    /// Returns the known mistake of a step that changes no result; nullptr if there is none.
    const attn::Finding* harmless_mistake(const attn::StepVerdict& row) const {
        const auto found = std::ranges::find(diagnosis_.findings, row.name, &attn::Finding::step);
        const bool has_mistake =
            row.harmless && found != diagnosis_.findings.end() && found->mistake() != nullptr;
        return has_mistake ? &*found : nullptr;
    }

    /// True unless results show that the inputs were rounded. Results with more digits than the
    /// inputs match inputs that are exact, and match others by chance only. Matrices and x are
    /// chosen; query, key and value were computed, unless the results prove that they are exact.
    bool are_inputs_exact() {
        std::size_t hits = 0, misses = 0;
        attn::Ledger used = given();
        for (const attn::StepVerdict& row : ordered_.rows) {
            const attn::Tensor* const actual = ordered_.actual.find(row.name);
            if (actual == nullptr) continue;
            is_exact_ = true;
            const auto narrow = ball(row.name, used);
            is_exact_ = false;
            const auto wide = ball(row.name, used);
            const PrintedTensor& digits = printed_.at(row.name);
            const bool fits = narrow && wide && narrow->middle.shape() == actual->shape();
            for (std::size_t i = 0; fits && i < actual->size(); ++i) {
                constexpr double telling = 10;
                const double cut = digits.cuts[i], least = narrow->radius.at(i) + cut;
                if (wide->radius.at(i) + cut < telling * least) continue;
                const bool is_hit = std::abs(actual->at(i) - narrow->middle.at(i)) <= least;
                ++(is_hit ? hits : misses);
            }
            used.record(row.name, *actual);
        }
        constexpr std::size_t sure = 12;
        const bool are_chosen = std::ranges::any_of(diagnosis_.given.entries(), [&](auto& entry) {
            return printed_.contains(entry.name) &&
                   attn::find_step(table_, entry.name).kind != attn::Step::Kind::computed;
        });
        return are_chosen ? hits >= misses : hits >= sure && 2 * hits > sure * misses;
    }

    /// Returns how far the numbers of printed tensors may be from those that were computed with.
    attn::Ledger radii(const attn::Ledger& used) const {
        attn::Ledger radii;
        for (const auto& [name, tensor] : used.entries()) {
            const auto own = printed_.find(name);
            if (own == printed_.end() || own->second.is_whole || !tensor.is_floating()) continue;
            if (own->second.cuts.size() != tensor.size()) continue;
            const bool is_input = is_exact_ && diagnosis_.given.has(name);
            attn::Array<double> radius = attn::empty_array<double>(tensor.shape());
            for (std::size_t i = 0; i < tensor.size(); ++i) {
                constexpr double fill = -1e4;  // hides a key, and has no digits to lose
                const double cut = tensor.at(i) > fill ? own->second.cuts[i] : 0;
                radius.data()[i] = is_input ? std::min(cut, 0.5 * finest_) : cut;
            }
            radii.record(name, attn::Tensor(tensor.axes(), std::move(radius)));
        }
        return radii;
    }

    std::optional<attn::Ball> ball(const std::string& step, const attn::Ledger& used) const {
        const attn::Plan& plan = *diagnosis_.plan;
        return attn::Bounds(plan, table_, used, attn::rounding_of(plan.compute_dtype), radii(used))
            .of(step);
    }

    /// True if a printed number may be that cell of a ball.
    static bool is_within(const attn::Ball& around, std::size_t i, double number, double cut) {
        const double middle = around.middle.at(i);
        return attn::same_number(number, middle) ||
               std::abs(number - middle) <= around.radius.at(i) + cut;
    }

    /// The cells of a tensor that no reading of the numbers before it explains, and the right ones.
    struct WrongCells {
        std::vector<std::size_t> places{};
        std::vector<double> right{};
    };

    /// Returns the wrong cells of a tensor that is read as a step; nullopt if the step's cells
    /// cannot be computed.
    std::optional<WrongCells> wrong_cells(const std::string& name, const std::string& step,
                                          const attn::Tensor& actual, const attn::Ledger& printed,
                                          const attn::Ledger& corrected) const {
        const auto first = ball(step, printed), second = ball(step, corrected);
        if (!first || !second || first->middle.shape() != actual.shape()) return std::nullopt;
        const std::vector<double>& cuts = printed_.at(name).cuts;
        const attn::Tensor* walked = walk_.find(step);
        if (walked != nullptr && walked->shape() != actual.shape()) walked = nullptr;
        // Inputs as fine as the results give the right number better than rounded results do.
        const bool are_fine =
            is_exact_ || std::ranges::all_of(diagnosis_.given.entries(), [&](const auto& entry) {
                const auto own = printed_.find(entry.name);
                return own == printed_.end() || own->second.finest <= 1.5 * finest_;
            });
        const bool is_sharp = walked != nullptr && are_as_computed(actual, *walked, *second, cuts);
        WrongCells wrong;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            const double number = actual.at(i);
            constexpr double far = 3;
            const bool is_mismatch = is_sharp && std::abs(number - walked->at(i)) > far * cuts[i] &&
                                     std::abs(number - first->middle.at(i)) > far * cuts[i] &&
                                     std::abs(number - second->middle.at(i)) > far * cuts[i];
            const bool may_be =
                is_within(*first, i, number, cuts[i]) || is_within(*second, i, number, cuts[i]);
            if (may_be && !is_mismatch) continue;
            const bool is_walked = walked != nullptr && (are_fine || is_sharp) &&
                                   is_within(*second, i, walked->at(i), 0);
            wrong.places.push_back(i);
            wrong.right.push_back(is_walked ? walked->at(i) : second->middle.at(i));
        }
        if (step == "weights") add_off_rows(actual, second->middle, cuts, wrong);
        return wrong;
    }

    /// Adds the cell that is furthest off in each row of weights that does not sum to 1, whatever
    /// the numbers before it were, unless one of its cells is known to be wrong.
    void add_off_rows(const attn::Tensor& weights, const attn::Tensor& right,
                      const std::vector<double>& cuts, WrongCells& wrong) const {
        const attn::Plan& plan = *diagnosis_.plan;
        const bool sum_to_one = !plan.config.sigmoid && !plan.has_sink() &&
                                plan.config.softmax_axis == attn::SoftmaxAxis::key;
        const std::size_t columns = weights.shape().back();
        for (std::size_t first = 0; sum_to_one && first < weights.size(); first += columns) {
            double sum = 0, slack = 1e-6;
            std::size_t worst = first;
            const auto off = [&](std::size_t i) { return std::abs(weights.at(i) - right.at(i)); };
            for (std::size_t i = first; i < first + columns; ++i) {
                sum += weights.at(i);
                slack += cuts[i];
                if (off(i) > off(worst)) worst = i;
            }
            const bool is_known = std::ranges::any_of(
                wrong.places, [&](std::size_t i) { return i >= first && i < first + columns; });
            if (is_known || sum == 0 || !(std::abs(sum - 1) > slack)) continue;
            wrong.places.push_back(worst);
            wrong.right.push_back(right.at(worst));
        }
    }

    /// True if most cells for which the rounding of the numbers before them leaves room are what a
    /// walk without rounding computes: then all are.
    static bool are_as_computed(const attn::Tensor& actual, const attn::Tensor& walked,
                                const attn::Ball& around, const std::vector<double>& cuts) {
        std::size_t same = 0, telling = 0;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (!(around.radius.at(i) > 2 * cuts[i])) continue;
            ++telling;
            same += std::abs(actual.at(i) - walked.at(i)) <= cuts[i] ? 1U : 0U;
        }
        constexpr std::size_t least = 6;
        return same >= least && 5 * same >= 4 * telling;
    }

    /// Judges a tensor as the step, among those that its name may mean, with the fewest wrong
    /// cells, and returns that step.
    std::string judge(const attn::StepVerdict& row, const attn::Tensor& actual,
                      const attn::Ledger& printed, const attn::Ledger& corrected,
                      attn::Tensor& fixed, Proof& proof) const {
        std::string step = row.name;
        std::optional<WrongCells> found = wrong_cells(row.name, step, actual, printed, corrected);
        std::vector<std::string> others;
        if (!found || !found->places.empty())
            others = attn::steps_called(row.name_in_file, *diagnosis_.plan);
        for (const std::string& other : others) {
            if (ordered_.actual.has(other)) continue;
            auto again = wrong_cells(row.name, other, actual, printed, corrected);
            if (!again || (found && again->places.size() >= found->places.size())) continue;
            found = std::move(again);
            step = other;
        }
        if (!found) {
            const bool is_right = row.local == attn::Verdict::right || row.harmless;
            (is_right ? proof.right : proof.unjudged).push_back(row.name_in_file);
            return step;
        }
        if (found->places.empty() || may_be_form(row, found->places.size(), actual.size())) {
            proof.right.push_back(row.name_in_file);
            return step;
        }
        const PrintedTensor& digits = printed_.at(row.name);
        attn::Array<double> numbers = attn::cast(actual, attn::DType::float64).as<double>();
        for (std::size_t wrong = 0; wrong < found->places.size(); ++wrong) {
            const std::size_t i = found->places[wrong];
            const attn::Shape cell = attn::indices_of(i, actual.shape());
            const PrintedNumber* const number = digits.cells.empty() ? nullptr : digits.cells[i];
            const bool has_word = is_of_tokens(row.name_in_file, row.name) || row.name == "key" ||
                                  row.name == "value";
            const std::size_t r = cell.size() < 2 ? tokens_.size() : cell[cell.size() - 2];
            proof.wrong.push_back({row.name_in_file, row.name, cell,
                                   has_word && r < tokens_.size() ? tokens_[r] : "",
                                   number == nullptr ? digits.shown(i, actual.at(i)) : number->text,
                                   digits.shown(i, found->right[wrong]),
                                   number == nullptr ? "" : line_around(text_, number->at)});
            numbers.data()[i] = found->right[wrong];
        }
        fixed = attn::cast(attn::Tensor(actual.axes(), std::move(numbers)), actual.dtype());
        return step;
    }

    const std::string& text_;
    std::vector<PrintedNumber> numbers_;
    const attn::Diagnosis& diagnosis_;
    const attn::StepTable& table_;
    const std::vector<std::string>& tokens_;
    OrderedVerdicts ordered_;
    attn::Ledger walk_;
    std::map<std::string, PrintedTensor> printed_;
    double finest_ = 1;     ///< unit of the finest tensor in decimals
    bool is_exact_ = true;  ///< the inputs have no digits beyond those that are printed
};

}  // namespace

OrderedVerdicts::OrderedVerdicts(const attn::Diagnosis& diagnosis, const attn::Ledger& file)
    : rows(diagnosis.steps), actual(diagnosis.read) {
    // Only the right numbers show that a tensor is another form of the step of its name.
    for (attn::StepVerdict& row : rows) {
        for (const attn::KeptStep* kept = attn::kept_step(row.name);
             kept != nullptr && row.local == attn::Verdict::wrong && !kept->by_name &&
             std::ranges::find(rows, kept->of, &attn::StepVerdict::name) == rows.end();
             kept = attn::kept_step(row.name)) {
            row.name = kept->of;
            row.layout.clear();
        }
    }
    // If two tensors were read as one step, the one with another name is the step of its name.
    for (attn::StepVerdict& row : rows) {
        const auto is_in_use = [&](const std::string& step) {
            return std::ranges::find(rows, step, &attn::StepVerdict::name) != rows.end();
        };
        if (std::ranges::count(rows, row.name, &attn::StepVerdict::name) < 2) continue;
        const auto meant = attn::steps_called(row.name_in_file, *diagnosis.plan);
        const auto other =
            std::ranges::find_if(meant, [&](const auto& step) { return !is_in_use(step); });
        if (other == meant.end() || (!meant.empty() && meant.front() == row.name)) continue;
        row.name = *other;
        row.layout.clear();
        row.local = attn::Verdict::wrong;  // until its cells are judged
        row.harmless = false;
    }
    std::ranges::stable_sort(rows, {}, [&](const attn::StepVerdict& row) {
        return attn::place_of(attn::kept_table(*diagnosis.plan), row.name);
    });
    for (const attn::StepVerdict& row : rows) {
        const attn::Tensor* const beside = file.find(row.name_in_file);
        const bool is_read = actual.has(row.name) || !row.layout.empty();
        if (!is_read && beside != nullptr) actual.record(row.name, *beside);
        // Results that were printed as whole numbers.
        const attn::Tensor* const own = actual.find(row.name);
        if (own == nullptr || own->dtype() != attn::DType::int64 || row.name == "ids") continue;
        attn::Array<double> cells = attn::empty_array<double>(own->shape());
        attn::each_number(*own, [&](std::size_t i, double cell) { cells.data()[i] = cell; });
        actual.record(row.name, attn::cast(attn::Tensor(own->axes(), std::move(cells)),
                                           diagnosis.plan->compute_dtype));
    }
}

FarthestCell farthest_cell(const attn::Tensor& actual, const attn::Tensor& correct) {
    FarthestCell farthest;
    for (std::size_t i = 0; i < correct.size(); ++i) {
        if (attn::same_number(actual.at(i), correct.at(i))) continue;
        const double distance = std::abs(actual.at(i) - correct.at(i));
        const double off = std::isnan(distance) ? HUGE_VAL : distance;
        if (off > farthest.distance) farthest = {i, off};
    }
    return farthest;
}

bool Proof::has_wrong(const std::string& step) const {
    return std::ranges::find(wrong, step, &WrongPrintedCell::step) != wrong.end();
}

std::string WrongPrintedCell::text() const {
    std::string where = attn::visible(place);
    if (!row_word.empty()) where += " of \"" + attn::visible(row_word) + "\"";
    const std::size_t rows = cell.size() < 2 ? 0 : cell.size() - 2;
    if (row_word.empty()) {
        where += attn::index_text(cell);
    } else {
        if (rows > 0) where += ", head " + std::to_string(cell[rows - 1]);
        where += ", column " + std::to_string(cell.back() + 1);
    }
    return where + ": " + printed + " should be " + should_be;
}

Proof proof_of(const std::string& text, const attn::Ledger& file, const attn::Diagnosis& diagnosis,
               const std::vector<std::string>& tokens) {
    return Proofreader(text, file, diagnosis, tokens).proof();
}

}  // namespace app
