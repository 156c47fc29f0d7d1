#pragma once
#include <initializer_list>
#include <string>

#include "attn/notebooks/notebook.hpp"

namespace attn {

/// What a notebook shows, section after section. The calls after `tensor`, `shape` or `text`
/// describe the section that was begun last.
class Page {
public:
    Page(CodeLanguage language, const Replay& replay) : language_(language), replay_(replay) {}

    /// Begins a section.
    Page& tensor(std::string name, std::string title, Tensor content);
    Page& text(std::string name, std::string title, std::string content);
    /// A section with the printed form of a shape.
    Page& shape(std::string name, std::string title, const Shape& shape);

    Page& made(std::string formula);
    Page& code(std::string lines);
    Page& printed_by(std::string expression);
    Page& note(std::string words);
    Page& grad(const std::string& function);
    /// Not printed by the notebook.
    Page& kept();
    /// A margin note: the notebook makes this mistake here. In a corrected replay the margin says
    /// how it was mended.
    Page& mistake(const std::string& id, const std::string& words);

    /// The document, with these settings above it.
    Document finish(const std::string& notebook, const WalkConfig& config);

private:
    Section& begin(std::string name, std::string title);

    CodeLanguage language_;
    Replay replay_;
    Document document_;
};

/// The notebook's own settings, overruled by what the replay asks for.
void settle(WalkConfig& config, const Replay& replay);

/// The walk with the notebook's mistakes made, or as it should be in a corrected replay; without
/// the parts of softmax, which no page shows.
Ledger walk_with(const Plan& plan, const Ledger& given, const Replay& replay,
                 const std::vector<std::string>& ids);

/// A stream of draws for cells that draw more than one walk does.
class Stream {
public:
    Stream(const WalkConfig& config, std::uint64_t seed);

    Tensor rand(Axes axes, const Shape& shape);
    Tensor randn(Axes axes, const Shape& shape);
    /// The weight of nn.Linear(in, out, bias=False).
    Tensor linear(std::size_t in, std::size_t out);

private:
    template <class Fill>
    Tensor filled(Axes axes, const Shape& shape, Fill&& fill);

    DType dtype_;
    std::unique_ptr<Generator> generator_;
};

// What the margin notes measure.
double sum_of(const Tensor& tensor);
double variance_of(const Tensor& tensor);  ///< unbiased
/// The sums along the last axis of a matrix, `1.0000 1.0000`; down its columns with `columns`.
std::string row_sums(const Tensor& matrix);
std::string column_sums(const Tensor& matrix);
/// A number with four decimals.
std::string four(double number);

}  // namespace attn
