#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/show/render/render.hpp"

namespace attn {

/// Options of a replay. Unset options have the notebook's own values.
struct ReplayOptions {
    std::optional<std::uint64_t> seed{};
    std::optional<Variant> variant{};
    std::optional<TorchBuild> torch_build{};
    bool corrected = false;  ///< with its mistakes corrected
    bool code = true;        ///< with the lines that print each section
};

/// One walk of a notebook, as settings of the standard walk, which compute all its numbers.
struct NotebookWalk {
    std::string name;  ///< `two-heads`
    WalkConfig config;
    std::vector<std::string> mistakes{};  ///< those that no setting expresses; none if corrected
};

/// A notebook of the kind that learners find on the web, as a program with this library. It has one
/// section for everything that the notebook prints, in its order and printed form, with its
/// mistakes; further sections, hidden by default, have the tensors of printed shapes. Sections name
/// the walk, and the parts of its steps, with their numbers.
struct Notebook {
    std::string number;  ///< `000`; also valid as a name
    std::string name;
    std::string summary;
    CodeLanguage language;  ///< the library that it is written for
    std::function<Document(const ReplayOptions&)> replay;
    /// Its walks; the first is the default.
    std::function<std::vector<NotebookWalk>(const ReplayOptions&)> walks;
};

/// All notebooks.
const std::vector<Notebook>& notebooks();

/// Finds the notebook with that name or number (`2`, `02`), or the only one whose name begins so.
/// Errors  ConfigError, listing the names.
const Notebook& find_notebook(std::string_view name);

/// Finds the walk with that name.  Errors  std::out_of_range.
const NotebookWalk& find_walk(const std::vector<NotebookWalk>& walks, std::string_view name);

/// Returns the content of a section with a walk: the part of its steps, its remake, or the printed
/// shape if the section is a text.
///
/// Errors  ConfigError, ShapeError if the walk lacks the part.
decltype(Section::content) content_of(const Section& section, const Plan& plan,
                                      const Ledger& ledger, CodeLanguage language);

/// Computes the walk, without the parts of softmax, which no notebook shows.
/// Errors  as resolve and with_mistakes.
Walked performed(const NotebookWalk& walk);

// The notebooks, one file each.
Document padding_heads(const ReplayOptions& replay);
Document numpy_loops(const ReplayOptions& replay);
Document causal_heads(const ReplayOptions& replay);
Document sentence(const ReplayOptions& replay);
std::vector<NotebookWalk> sentence_walks(const ReplayOptions& replay);

/// Merges both replays into one document: a section of the corrected one that differs follows the
/// other, named `NAME_corrected`; a section that only one of them has stays in its place.
Document both_replays(const Document& faithful, const Document& corrected);

/// Merges them into one program: the faithful replay, then the corrected one from the top, which
/// shows only the differences.
Document one_after_the_other(const Document& faithful, const Document& corrected);

/// For text output: joins the sections that both_replays paired in two columns, the faithful one on
/// the left, if both fit into `columns`; else one below the other.
Document side_by_side(const Document& document, TextForm form, const PrintOptions& options,
                      std::size_t columns);

}  // namespace attn
