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

/// How a notebook is replayed. What is left unset is the notebook's own.
struct ReplayOptions {
    std::optional<std::uint64_t> seed{};
    std::optional<Variant> variant{};
    std::optional<TorchBuild> torch_build{};
    bool corrected = false;  ///< with its mistakes corrected
    bool code = true;        ///< with the lines that print each section
};

/// One walk of a notebook, as settings of the shared walk: no number of it is made otherwise.
struct NotebookWalk {
    std::string name;  ///< `two-heads`
    WalkConfig config;
    std::vector<std::string> mistakes{};  ///< those that are no setting; none where corrected
};

/// A notebook of the kind learners find on the web, as a program on this library. It gives one
/// section for each thing that the notebook prints, in its order and printed form, with the
/// mistakes that it makes; further sections, not shown by default, hold what is after a
/// printed shape. Sections say which walk, and which parts of its steps, hold their numbers.
struct Notebook {
    std::string number;  ///< `000`; serves as a name too
    std::string name;
    std::string summary;
    CodeLanguage language;  ///< the library that it is written for
    std::function<Document(const ReplayOptions&)> replay;
    /// Its walks; the first is the one that is meant where nothing more is said.
    std::function<std::vector<NotebookWalk>(const ReplayOptions&)> walks;
};

/// All notebooks.
const std::vector<Notebook>& notebooks();

/// The notebook of that name or number (`2`, `02`), or the only one whose name begins so.
/// Errors  ConfigError, listing the names there are.
const Notebook& find_notebook(std::string_view name);

/// The walk of that name.  Errors  std::out_of_range.
const NotebookWalk& find_walk(const std::vector<NotebookWalk>& walks, std::string_view name);

/// The content of a section that a walk makes: the part of its steps, its remake, or, where the
/// section holds a text, the printed shape.
///
/// Errors  ConfigError, ShapeError where the walk lacks the part.
decltype(Section::content) content_of(const Section& section, const Plan& plan,
                                      const Ledger& ledger, CodeLanguage language);

/// Performs it; without the parts of softmax, which no notebook shows.
/// Errors  as resolve and with_mistakes.
Walked performed(const NotebookWalk& walk);

// The programs, one file each.
Document padding_heads(const ReplayOptions& replay);
Document numpy_loops(const ReplayOptions& replay);
Document causal_heads(const ReplayOptions& replay);
Document sentence(const ReplayOptions& replay);
std::vector<NotebookWalk> sentence_walks(const ReplayOptions& replay);

/// Both replays in one document: where a section of the corrected one differs it is right
/// after the other, named `NAME_corrected`; what only one of them has is in its place.
Document both_replays(const Document& faithful, const Document& corrected);

/// The same as one program: the faithful replay, then from the top the corrected one, of which only
/// what differs is shown.
Document one_after_the_other(const Document& faithful, const Document& corrected);

/// For text output: the sections that both_replays paired, as one text in two columns, the faithful
/// form on the left, where both fit into `columns`; else one above the other.
Document side_by_side(const Document& document, TextForm form, const PrintOptions& options,
                      std::size_t columns);

}  // namespace attn
