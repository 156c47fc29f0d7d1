#pragma once
#include <initializer_list>
#include <string>

#include "attn/notebooks/notebook.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

/// What a notebook shows, section after section. The calls after `tensor`, `shape` or `text`
/// describe the section that was begun last.
class NotebookBuilder {
public:
    NotebookBuilder(CodeLanguage language, const ReplayOptions& replay)
        : language_(language), replay_(replay) {}

    /// The walk that makes the numbers of the sections from here on; empty: no walk does.
    void within(std::string walk) { walk_ = std::move(walk); }

    /// Begins a section.
    NotebookBuilder& tensor(std::string name, std::string title, Tensor content);
    NotebookBuilder& text(std::string name, std::string title, std::string content);
    /// The printed form of a shape. A section `x_shape` is printed by `x.shape`.
    NotebookBuilder& shape(std::string name, std::string title, const Shape& shape);

    /// The parts of the walk's steps that these numbers are, side by side where there are several:
    /// `weights[0]`; by itself the step whose name the section has. Empty: no walk makes them.
    NotebookBuilder& from(std::string parts);
    /// How it is made of the walk where it is not simply that part, or the shape of it.
    NotebookBuilder& remade(Section::Remake remake);

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

    /// The document, with the settings of this plan above it and its tokens along the axes.
    Document finish(const std::string& notebook, const Plan& plan);

private:
    Section& begin(std::string name, std::string title);

    CodeLanguage language_;
    ReplayOptions replay_;
    std::string walk_;
    Document document_;
};

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
