#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/learn/notebooks/notebook.hpp"

namespace attn {

/// Builds the content of a notebook from its embedded page.
///
/// A page begins with its walks, `[walk NAME]`: `settings`, a line of settings
/// (attn/core/settings), `mistakes` that are not settings, which a corrected replay does not make,
/// and a title.
///
/// The page has one block per section: `[name]`, then one field per line, `title: words`. Lines
/// that begin with spaces continue the previous field; those of `code` are kept as they are. ` if
/// corrected` or ` if not corrected` after a name or a field restricts it. The fields:
///
///     title, made, note, code, printed_by   as they are; words in braces are left for `fill`
///     walk       the walk that computes this section and those after it; empty: none does
///     from       the parts of its steps that these numbers are, `weights[0]`, side by side if
///                there are several; by default the step with the section's name. Empty: none
///     called     the notebook's own names of it, separated by spaces
///     shape      it is the shape of its part, as that of each section `x_shape`, which `x.shape`
///                prints
///     grad       PyTorch's name of the function after the tensor
///     kept       not printed by the notebook
///     mistake ID the notebook makes it here: a remark that, in a corrected replay, describes the
///                correction
class NotebookBuilder {
public:
    using Fields = std::vector<std::pair<std::string, std::string>>;

    NotebookBuilder(CodeLanguage language, const ReplayOptions& replay, const char* page,
                    std::vector<NotebookWalk> walks);

    /// Returns the walk with that name, computed on first use.
    const Walked& walked(const std::string& name);

    /// Uses the code of this plan's steps for `{scores}` and the like in code, and its setup code
    /// for `{setup}`; in one section, or in all.
    void codes(const Plan& plan, Gradients gradients = Gradients::off,
               const std::string& section = {});

    /// Defines how a section is computed from its walk if it is not a plain part or its shape.
    void remade(const std::string& section, Section::Remake remake);
    /// Sets the content of a section without a walk.
    void own(const std::string& section, decltype(Section::content) content);
    /// Replaces `{name}` in code, note and remarks.
    void fill(const std::string& section, const std::string& name, const std::string& words);

    /// Returns the document, with the settings of this plan and its tokens along the axes.
    Document finish(const std::string& notebook, const Plan& plan);

private:
    Section section_of(const std::string& name, const Fields& fields);
    void describe(Section& section, const std::string& field, const std::string& text);

    CodeLanguage language_;
    ReplayOptions replay_;
    std::vector<NotebookWalk> walks_;
    std::map<std::string, Walked> walked_;
    std::vector<std::pair<std::string, Fields>> page_;  ///< its blocks
    Fields codes_;
    std::map<std::string, Section::Remake> remade_;
    std::map<std::string, decltype(Section::content)> own_;
    std::map<std::string, Fields> fills_;
    std::string walk_;  ///< of the following sections
};

/// The embedded pages.
extern "C" const char attn_notebook_padding_heads[], attn_notebook_numpy_loops[],
    attn_notebook_causal_heads[], attn_notebook_sentence[];

/// Returns a generator for cells that draw more than one walk does.
std::unique_ptr<Generator> generator_of(const Plan& plan);

/// Returns the walks of a page for this replay.
std::vector<NotebookWalk> walks_in(const char* page, const ReplayOptions& replay);

/// Applies the notebook's own settings, overridden by those of the replay.
void settle(WalkConfig& config, const ReplayOptions& replay);

/// Computes the walk with the notebook's mistakes, or without them in a corrected replay; without
/// the parts of softmax, which no notebook shows.
Ledger walk_with(const Plan& plan, const Ledger& given, const ReplayOptions& replay,
                 const std::vector<std::string>& ids);

// Figures for the notes.
double sum_of(const Tensor& tensor);
double variance_of(const Tensor& tensor);  ///< unbiased
/// Returns the sums along an axis of a matrix, `1.0000 1.0000`.
std::string sums_along(const Tensor& matrix, std::size_t axis);
/// Formats a number with four decimals.
std::string four(double number);

}  // namespace attn
