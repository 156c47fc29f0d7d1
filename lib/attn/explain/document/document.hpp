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
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/prose.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// One section of output: what a step made, and the words around it.
struct Section {
    std::string name;     ///< the step's name in the ledger, or a notebook's own word
    Prose title;          ///< a description in a few words
    std::string formula;  ///< how it was made
    Prose note;           ///< one or two sentences about these numbers; may be empty
    Prose margin;         ///< a remark on a mistake made here; may be empty
    std::string code;     ///< the PyTorch or NumPy lines that make it; may be empty
    /// The tensor, or the text of something that is none: a shape, a number, a dictionary.
    std::variant<Tensor, std::string> content;
    std::string suffix;        ///< autograd note of PyTorch's printed form; may be empty
    bool shown = true;         ///< printed without being asked for
    std::string expression{};  ///< printed after `code`; empty when it is the name
    /// Where the axes of a part that was cut out lie in the whole; empty for a whole tensor.
    std::vector<AxisPart> part{};
    /// The cell at which a page opens a whole tensor; empty where none was asked for.
    std::vector<std::size_t> opened_at{};
    bool detail = false;           ///< a part of another step, whose lines are not needed for it
    std::string tokens = "query";  ///< whose positions a `token` axis counts, as in Step
    std::vector<std::string> reads{};  ///< the sections that it was made from
    /// Of a notebook: the walk that makes these numbers, and which parts of its steps they are, as
    /// --only takes them; empty where no walk does.
    std::string walk{}, parts{};
    std::string called{};  ///< its names in the notebook, separated by spaces; may be empty
    /// Notes on each of its matrices by itself, empty where that is `note`. Empty unless
    /// asked for.
    std::vector<Prose> notes{};
    std::string derived_by{};  ///< the command whose page derives these numbers; may be empty
    /// How it is made of a walk's ledger where it is not the part itself.
    using Remake = std::function<std::variant<Tensor, std::string>(const Plan&, const Ledger&)>;
    Remake remake{};
    std::string rule{};     ///< the formula so that all it needs is in it; may be empty
    std::string kind{};     ///< `input`, `parameter`, `computed`, `detail`; set with the rule
    std::string rounded{};  ///< in 16 bits: `once` or after each `operation`; empty for copies
    bool changed = false;   ///< no longer what its notebook printed: other settings made it
    /// How its cells were made; empty unless they were asked for.
    std::vector<DerivationPattern> derivations{};

    /// The scores of which softmax is taken, where it is made of them cell by cell: keys at -inf
    /// are hidden.
    std::optional<Tensor> scores{};

    /// How far right code may be from each of its cells (attn/explain/bounds/bounds.hpp), where
    /// asked for.
    std::optional<Tensor> bound{};

    /// Names of features along its axes, by axis; empty without names.
    std::map<std::string, FeatureNames> features{};
    std::vector<std::string> row_words{};  ///< of an embedding, the word of each row; may be empty

    /// The axis that counts the same things in other steps: `query` or `key` for `token`.
    const std::string& counted_by(const std::string& axis) const {
        return axis == "token" ? tokens : axis;
    }
    /// Where index i of an axis lies in the whole tensor.
    std::size_t whole_index(std::size_t axis, std::size_t i) const;
};

/// The output of a command, before a format is chosen.
struct Document {
    std::vector<std::pair<std::string, std::string>> config;  ///< setting, its value as JSON text
    std::vector<Section> sections;
    /// Words (or ids) of each query and key position, as in Plan; may be empty.
    std::vector<std::vector<std::string>> query_tokens{};
    std::vector<std::vector<std::string>> key_tokens{};
    /// Sentences in front of all sections, one a line of printed forms; may be empty.
    std::vector<Prose> opening{};
    /// The columns of the terminal that shows the words of rows beside them; 0 without these words.
    std::size_t word_columns = 0;
    std::string command{};  ///< the command line that makes it
    std::string next{};     ///< one to try next, which printed forms end with; may be empty
    /// The verdict of a check, in a line and as JSON; may be empty. Records have it under this key.
    std::string verdict{}, verdict_json{}, verdict_key = "gradient_check";
    bool is_wrong = false;  ///< by that verdict
    std::string counts{};   ///< lines of counts_text(), for a summary; may be empty
    std::string name{};     ///< tells it from `other`: its flags, or `as printed`
    /// A program and the steps of its lines, as JSON, which a page shows beside the walk; may be
    /// empty.
    std::string listing{};
    /// The same walk before a file changed, whose cells are told from these.
    std::shared_ptr<const Document> before{};
    /// Another document that a page shows beside this one.
    std::shared_ptr<const Document> other{};

    /// The words along an axis of a section, one list for each sequence, or nullptr without words.
    const std::vector<std::vector<std::string>>* tokens_on(const Section& section,
                                                           const std::string& axis) const {
        const std::string& side = section.counted_by(axis);
        const auto& tokens = side == "query" ? query_tokens : key_tokens;
        return (side == "query" || side == "key") && !tokens.empty() ? &tokens : nullptr;
    }
    /// The names of features along an axis of a section in one head, or the tokens of one sequence;
    /// nullptr without words.
    const std::vector<std::string>* words_on(const Section& section, const std::string& axis,
                                             std::size_t sequence, std::size_t head) const;
    /// The sequence that a part was cut out of, where there are several.
    std::optional<std::size_t> picked_sequence(const Section& section) const;
};

/// The document of a walk: one section for each entry of the ledger, in the order of the table.
/// What a note says is looked up in all cells, which files of numbers can do without.
Document document_of(const Plan& plan, const Ledger& ledger, const StepTable& table,
                     bool has_notes = true);

/// The rules of the steps that are computed, completed (attn/core/rules/complete.hpp).
void add_rules(Document& document, const Plan& plan, const StepTable& table);
/// Says in the notes of a 16-bit walk where it was rounded, and by how much.
void add_rounding(Document& document, const Plan& plan, const StepTable& table,
                  const Ledger& ledger);
/// What made numbers of a step infinite that float32 holds, and what people do about it; empty
/// where none is.
std::string overflow_note(const PlannedStep& of, const Ledger& ledger);
/// Says beside each section what rounding allows, worked out of the tensors of the ledger.
void add_bounds(Document& document, const Plan& plan, const StepTable& table, const Ledger& ledger);
/// Says beside each section how its cells were made, for pages that answer when touched; but of
/// those that read a tensor which is left out.
void add_derivations(Document& document, const Plan& plan, const StepTable& table,
                     const Ledger& ledger, const std::vector<std::string>& left_out = {});

/// One line for each printed tensor: shape, type, least, largest and mean number, how many are nan
/// or infinite; of weights also what their rows sum to and their mean entropy in bits.
///
/// Range   numbers that are not finite count for none of the rest.
std::string summary_text(const Document& document);

/// The numbers of parameters, of products (of two numbers of the walk, in sums at their longest)
/// and of what a cache keeps, each with the steps that they come from. One line each, without those
/// of which there are none.
std::string counts_text(const Plan& plan, const StepTable& table);

/// Which printed tensors have other cells than before, and how many: `x 1 of 12 cells, context
/// all`; `nothing` where none has.
std::string changes_of(const Document& document, const Document& before);

/// A printed tensor with the numbers set apart that it printed otherwise before. Where it is laid
/// out otherwise too, all stays plain.
std::string marked(std::string_view text, std::string_view before, const Ink& ink);

/// Gives the sections of a walk their lines, the first one those of the setup too. A section named
/// after a part of a step, `weights[0]`, gets the lines of the step.
void add_code(Document& document, const Plan& plan, const StepTable& table, CodeLanguage language,
              const PrintOptions& options = {});

/// Gives the sections their tensors as lines, `weights = torch.tensor([[...]])`, in the place of
/// those that make them.
void add_literals(Document& document, CodeLanguage language, const PrintOptions& options = {});

/// Puts print options that are not the default after the imports of the first section.
void add_print_options(Document& document, CodeLanguage language, const PrintOptions& options);

/// The expression that a program prints after the lines of a section.
const std::string& printed_expression(const Section& section);

/// Moves the lines of sections that are not printed to the next one that is, so that what is
/// printed is a whole program. Parts of softmax that are not printed lose theirs.
void gather_code(Document& document);

}  // namespace attn
