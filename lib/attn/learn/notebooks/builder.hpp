#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/learn/notebooks/notebook.hpp"

namespace attn {

/// The content of a notebook, made of the page that lies in the program.
///
/// A page begins with its walks, `[walk NAME]`: `settings`, a line of settings
/// (attn/core/settings), `mistakes` that are no setting, none of which a corrected replay makes,
/// and a title.
///
/// A page has a block for each section: `[name]`, then a field on each line, `title: words`. Lines
/// that begin with blanks go on with the field before, those of `code` as they are. After a name
/// or a field ` if corrected` or ` if not corrected` restricts it. The fields:
///
///     title, made, note, code, printed_by   as they are; words in braces are left for `fill`
///     walk       the walk that makes this section and those after it; empty: none does
///     from       the parts of its steps that these numbers are, `weights[0]`, side by side where
///                there are several; by default the step whose name the section has. Empty: none
///     called     the notebook's own names of it, separated by spaces
///     shape      it is the shape of its part, as that of each section `x_shape`, which `x.shape`
///                prints
///     grad       PyTorch's name of the function after the tensor
///     kept       not printed by the notebook
///     mistake ID the notebook makes it here: a remark that, in a corrected replay, says how it was
///                corrected
class NotebookBuilder {
public:
    using Fields = std::vector<std::pair<std::string, std::string>>;

    NotebookBuilder(CodeLanguage language, const ReplayOptions& replay, const char* page,
                    std::vector<NotebookWalk> walks);

    /// The walk of that name, performed when it is first asked for.
    const Walked& walked(const std::string& name);

    /// The lines of this plan's steps stand for `{scores}` and their like in code, and its first
    /// lines for `{setup}`; of one section, or of all.
    void codes(const Plan& plan, Gradients gradients = Gradients::off,
               const std::string& section = {});

    /// How a section is made of its walk where it is not simply a part, or the shape of it.
    void remade(const std::string& section, Section::Remake remake);
    /// The content of a section that no walk makes.
    void own(const std::string& section, decltype(Section::content) content);
    /// Puts what was computed in the place of `{name}` in code, note and remarks.
    void fill(const std::string& section, const std::string& name, const std::string& words);

    /// The document, with the settings of this plan above it and its tokens along the axes.
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
    std::string walk_;  ///< of the sections from here on
};

/// The pages that lie in the program.
extern "C" const char attn_notebook_padding_heads[], attn_notebook_numpy_loops[],
    attn_notebook_causal_heads[], attn_notebook_sentence[];

/// A generator for cells that draw more than one walk does.
std::unique_ptr<Generator> generator_of(const Plan& plan);

/// The walks of a page, as this replay makes them.
std::vector<NotebookWalk> walks_in(const char* page, const ReplayOptions& replay);

/// The notebook's own settings, overruled by what the replay asks for.
void settle(WalkConfig& config, const ReplayOptions& replay);

/// The walk with the notebook's mistakes made, or as it should be in a corrected replay; without
/// the parts of softmax, which no notebook shows.
Ledger walk_with(const Plan& plan, const Ledger& given, const ReplayOptions& replay,
                 const std::vector<std::string>& ids);

// Measurements of the notes.
double sum_of(const Tensor& tensor);
double variance_of(const Tensor& tensor);  ///< unbiased
/// The sums along an axis of a matrix, `1.0000 1.0000`.
std::string sums_along(const Tensor& matrix, std::size_t axis);
/// A number with four decimals.
std::string four(double number);

}  // namespace attn
