#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/core/walk/feature_names.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/tensor/tolerance.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/prose.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// One section of output: the result of a step, and the words around it.
struct Section {
    std::string name;     ///< the step's name in the ledger, or a notebook's own word
    Prose title;          ///< a description in a few words
    std::string formula;  ///< how it was computed
    Prose note;           ///< one or two sentences about these numbers; may be empty
    Prose margin;         ///< a remark on a mistake made here; may be empty
    std::string code;     ///< the PyTorch or NumPy lines for it; may be empty
    /// The tensor, or the text of another value: a shape, a number, a dictionary.
    std::variant<Tensor, std::string> content;
    std::string suffix;        ///< autograd note of PyTorch's printed form; may be empty
    bool shown = true;         ///< printed by default
    std::string expression{};  ///< printed after `code`; empty if it is the name
    /// The place of a slice in each axis of the whole; empty for a whole tensor.
    std::vector<AxisPart> part{};
    /// The cell at which a page opens a whole tensor; empty for the first.
    std::vector<std::size_t> opened_at{};
    /// On a page with another walk: numbers this close to the other's count as equal.
    Tolerance tolerance{};
    bool detail = false;               ///< a part of another step, whose code does not need it
    std::string tokens = "query";      ///< the positions that a `token` axis counts, as in Step
    std::vector<std::string> reads{};  ///< the sections that it was computed from
    /// For a notebook: the walk with these numbers, and the parts of its steps, as for --only;
    /// empty if no walk makes them.
    std::string walk{}, parts{};
    std::string called{};  ///< its names in the notebook, separated by spaces; may be empty
    /// Notes on each of its matrices, empty for those with the note `note`. Empty by default.
    std::vector<Prose> notes{};
    std::string derived_by{};  ///< the command whose page derives these numbers; may be empty
    /// Computes it from a walk's ledger if it is not a plain part of a step.
    using Remake = std::function<std::variant<Tensor, std::string>(const Plan&, const Ledger&)>;
    Remake remake{};
    std::string rule{};  ///< a self-contained formula; may be empty
    std::string cost{};  ///< its products for a summary, `H T^2 D`; may be empty
    /// The completed rule, set with its text, for formats that compute.
    std::shared_ptr<const Rule> completed{};
    bool blank = false;     ///< a spreadsheet leaves its cells empty, for a student
    std::string kind{};     ///< `input`, `parameter`, `computed`, `detail`; set with the rule
    std::string rounded{};  ///< in 16 bits: `once` or after each `operation`; empty for copies
    bool changed = false;   ///< it differs from the notebook's output, because of other settings
    /// The derivations of its cells; empty unless requested.
    std::vector<DerivationPattern> derivations{};

    /// The input of softmax if weights are computed from it cell by cell: keys at -inf are hidden.
    std::optional<Tensor> scores{};

    /// The largest error of correct code for each of its cells (attn/explain/bounds/bounds.hpp), if
    /// requested.
    std::optional<Tensor> bound{};

    /// Names of features along its axes, by axis; empty if there are none.
    std::map<std::string, FeatureNames> features{};
    std::vector<std::string> row_words{};  ///< for an embedding, the word of each row; may be empty

    /// Returns the name under which other steps have this axis: `query` or `key` for `token`.
    const std::string& counted_by(const std::string& axis) const {
        return axis == "token" ? tokens : axis;
    }
    /// Returns the index in the whole tensor for index i of an axis.
    std::size_t whole_index(std::size_t axis, std::size_t i) const;
};

/// The output of a command, before a format is chosen.
struct Document {
    std::vector<std::pair<std::string, std::string>> config;  ///< setting, its value as JSON text
    std::vector<Section> sections;
    /// Words (or ids) at each query and key position, as in Plan; may be empty.
    std::vector<std::vector<std::string>> query_tokens{};
    std::vector<std::vector<std::string>> key_tokens{};
    /// Sentences before all sections, one per line in printed forms; may be empty.
    std::vector<Prose> opening{};
    /// The columns of the terminal for words next to rows; 0 without such words.
    std::size_t word_columns = 0;
    std::string command{};  ///< the command line that produces it
    std::string next{};     ///< a command to try next, at the end of printed forms; may be empty
    /// The verdict of a check, in a line and as JSON; may be empty. The third is its key in
    /// records.
    std::string verdict{}, verdict_json{}, verdict_key = "gradient_check";
    bool is_wrong = false;  ///< by that verdict
    std::string counts{};   ///< lines of counts_text(), for a summary; may be empty
    std::string name{};     ///< distinguishes it from `other`: its flags, or `as printed`
    /// A program and the steps of its lines, as JSON, for a page; may be empty.
    std::string listing{};
    /// The walk before a file changed, to mark changed cells.
    std::shared_ptr<const Document> before{};
    /// Another document that a page shows next to this one.
    std::shared_ptr<const Document> other{};

    /// Returns the words along an axis of a section, one list per sequence, or nullptr without
    /// words.
    const std::vector<std::vector<std::string>>* tokens_on(const Section& section,
                                                           const std::string& axis) const {
        const std::string& side = section.counted_by(axis);
        const auto& tokens = side == "query" ? query_tokens : key_tokens;
        return (side == "query" || side == "key") && !tokens.empty() ? &tokens : nullptr;
    }
    /// Returns the names of features along an axis of a section in one head, or the tokens of one
    /// sequence; nullptr without words.
    const std::vector<std::string>* words_on(const Section& section, const std::string& axis,
                                             std::size_t sequence, std::size_t head) const;
    /// Returns the sequence that a slice was taken from if there are several.
    std::optional<std::size_t> picked_sequence(const Section& section) const;
};

/// Returns the document of a walk: one section per entry of the ledger, in the order of the table.
/// Notes read all cells, which files of numbers do not need.
Document document_of(const Plan& plan, const Ledger& ledger, const StepTable& table,
                     bool has_notes = true);

/// Adds the completed rules of the computed steps (attn/core/rules/complete.hpp).
void add_rules(Document& document, const Plan& plan, const StepTable& table);
/// Adds notes on the rounding of a 16-bit walk: where, and by how much.
void add_rounding(Document& document, const Plan& plan, const StepTable& table,
                  const Ledger& ledger);
/// Explains why numbers of a step that float32 can represent became infinite, and the usual remedy;
/// empty if there are none.
std::string overflow_note(const PlannedStep& of, const Ledger& ledger);
/// Adds the rounding error that each section may have, computed from the tensors of the ledger.
void add_bounds(Document& document, const Plan& plan, const StepTable& table, const Ledger& ledger);
/// Adds the derivations of cells to each section, for pages that show them on a click; except for
/// sections that read a tensor which is left out.
void add_derivations(Document& document, const Plan& plan, const StepTable& table,
                     const Ledger& ledger, const std::vector<std::string>& left_out = {});

/// Returns one line per printed tensor: shape, type, minimum, maximum and mean, counts of nan and
/// infinite numbers; for weights also the row sums and the mean entropy in bits.
///
/// Range   non-finite numbers are excluded from the other figures.
std::string summary_text(const Document& document);

/// Counts the parameters, the products (of two tensor elements, for sums at their longest) and the
/// numbers in a cache, each with the steps that they belong to. One line each; zero counts are
/// omitted.
std::string counts_text(const Plan& plan, const StepTable& table);

/// Adds the products of each section in letters (cost.hpp), if the rules of the walk have them.
void add_costs(Document& document, const Plan& plan, const StepTable& table);

/// Lists printed tensors with changed cells and their number: `x 1 of 12 cells, context all`;
/// `nothing` if there are none.
std::string changes_of(const Document& document, const Document& before);

/// Marks the numbers of a printed tensor that differ from its earlier print. If the layout differs
/// as well, nothing is marked.
std::string marked(std::string_view text, std::string_view before, const Ink& ink);

/// Adds code to the sections of a walk, with the setup in the first one. A section named after a
/// part of a step, `weights[0]`, gets the code of the step.
void add_code(Document& document, const Plan& plan, const StepTable& table, CodeLanguage language,
              const PrintOptions& options = {});

/// Adds the tensors as literals, `weights = torch.tensor([[...]])`, in place of the code that
/// computes them.
void add_literals(Document& document, CodeLanguage language, const PrintOptions& options = {});

/// Adds print options that are not the default after the imports of the first section.
void add_print_options(Document& document, CodeLanguage language, const PrintOptions& options);

/// Returns the expression that a program prints after the code of a section.
const std::string& printed_expression(const Section& section);

/// Moves the code of hidden sections to the next printed one, so that the output is a complete
/// program. Hidden parts of softmax lose their code.
void gather_code(Document& document);

}  // namespace attn
