#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/notebooks/notebook.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

/// What a notebook shows, section after section. The calls after `tensor`, `shape` or `text`
/// describe the section that was begun last; what stands on its page describes it already.
///
/// A page has a block for each section: `[name]`, then a field on each line, `title: words`. Lines
/// that begin with blanks go on with the field before, those of `code` as they are. The fields are
/// named as the calls below; ` if corrected` or ` if not corrected` behind the name restricts one.
/// Words in braces are left for `fill`.
class NotebookBuilder {
public:
    NotebookBuilder(CodeLanguage language, const ReplayOptions& replay, const char* page);

    /// The walk that makes the numbers of the sections from here on; empty: no walk does.
    void within(std::string walk) { walk_ = std::move(walk); }

    /// The lines of this plan's steps stand for `{scores}` and their like in the code of the
    /// sections from here on, and its first lines for `{setup}`.
    void codes(const Plan& plan, Gradients gradients = Gradients::off);

    /// Begins a section.
    NotebookBuilder& tensor(std::string name, Tensor content);
    NotebookBuilder& text(std::string name, std::string content);
    /// The printed form of a shape. A section `x_shape` is printed by `x.shape`.
    NotebookBuilder& shape(std::string name, const Shape& shape);

    /// The parts of the walk's steps that these numbers are, side by side where there are several:
    /// `weights[0]`; by itself the step whose name the section has. Empty: no walk makes them.
    NotebookBuilder& from(std::string parts);
    /// How it is made of the walk where it is not simply that part, or the shape of it.
    NotebookBuilder& remade(Section::Remake remake);

    NotebookBuilder& title(std::string words);
    NotebookBuilder& made(std::string formula);
    NotebookBuilder& code(std::string lines);
    NotebookBuilder& printed_by(std::string expression);
    NotebookBuilder& note(std::string words);
    NotebookBuilder& grad(const std::string& function);
    /// Not printed by the notebook.
    NotebookBuilder& kept();
    /// The notebook makes this mistake here: a remark that, in a corrected replay, says how it was
    /// corrected.
    NotebookBuilder& mistake(const std::string& id, const std::string& words);

    /// Puts what was computed in the place of `{name}` in code, note and remarks.
    NotebookBuilder& fill(const std::string& name, const std::string& words);

    /// The document, with the settings of this plan above it and its tokens along the axes.
    Document finish(const std::string& notebook, const Plan& plan);

private:
    Section& begin(std::string name);
    void describe(const std::string& field, const std::string& text);

    CodeLanguage language_;
    ReplayOptions replay_;
    std::map<std::string, std::vector<std::pair<std::string, std::string>>> page_;
    std::vector<std::pair<std::string, std::string>> codes_;
    std::string walk_;
    Document document_;
};

/// The pages that lie in the program.
extern "C" const char attn_notebook_padding_heads[], attn_notebook_numpy_loops[],
    attn_notebook_causal_heads[], attn_notebook_sentence[];

/// A generator for cells that draw more than one walk does.
std::unique_ptr<Generator> generator_of(const Plan& plan);

/// The walk with these mistakes, or without them in a corrected replay.
NotebookWalk walk_of(const ReplayOptions& replay, std::string name, WalkConfig config,
                     std::vector<std::string> mistakes = {});

/// The notebook's own settings, overruled by what the replay asks for.
void settle(WalkConfig& config, const ReplayOptions& replay);

/// The walk with the notebook's mistakes made, or as it should be in a corrected replay; without
/// the parts of softmax, which no notebook shows.
Ledger walk_with(const Plan& plan, const Ledger& given, const ReplayOptions& replay,
                 const std::vector<std::string>& ids);

// What the notes measure.
double sum_of(const Tensor& tensor);
double variance_of(const Tensor& tensor);  ///< unbiased
/// The sums along the last axis of a matrix, `1.0000 1.0000`; down its columns with `columns`.
std::string row_sums(const Tensor& matrix);
std::string column_sums(const Tensor& matrix);
/// A number with four decimals.
std::string four(double number);

}  // namespace attn
